"""`oxmill jobs`."""

import json
import threading

import pytest

from oxmill.model.info import Beat, WorkerInfo
from oxmill.model.query import Get
from oxmill.model.settlement import Failure, Outcome, Settle, Settlement
from oxmill.model.state import State

# -- list ------------------------------------------------------------------------------------------


def test_list_is_a_table_of_the_newest_first(shell):
    shell.enqueue("a1", "a2")
    lines = shell("jobs", "list").stdout.splitlines()
    assert lines[0].split()[:4] == ["ID", "QUEUE", "TASK", "STATE"]
    assert [line.split()[:4] for line in lines[1:]] == [
        ["a2", "default", "app:send", "waiting"],
        ["a1", "default", "app:send", "waiting"],
    ]


def test_jobs_alone_lists(shell):
    shell.enqueue("a1")
    assert shell("jobs").stdout == shell("jobs", "list").stdout


def test_nothing_found_says_so_on_stderr_and_prints_no_data(shell):
    result = shell("jobs", "list")
    assert result.stdout == ""
    assert "no job matches" in result.stderr


def test_json_is_one_array_and_ndjson_one_object_per_line(shell):
    shell.enqueue("a1", "a2")
    assert [job["id"] for job in shell.data("jobs", "list")] == ["a2", "a1"]
    lines = shell("jobs", "list", "-o", "ndjson").stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith('{"id":"a') for line in lines)


@pytest.mark.parametrize(
    "words",
    [
        ("-q", "mail"),
        ("-t", "app:other"),
        ("-s", "scheduled"),
        ("--group", "acme"),
        ("--tag", "big"),
        ("-f", "user_id=62"),
        ("-f", "name=ada"),
        ("-f", 'code="62"'),
        ("--since", "30s"),
    ],
)
def test_list_filters(shell, words):
    shell.enqueue("other")
    shell.clock.advance(60_000_000)
    shell.enqueue(
        "wanted",
        queue="mail",
        task="app:other",
        delay=1_000_000,
        group="acme",
        tags=("big",),
        fields={"user_id": 62, "name": "ada", "code": "62"},
    )
    assert [job["id"] for job in shell.data("jobs", "list", *words)] == ["wanted"]


def test_before_leaves_out_what_is_newer(shell):
    shell.enqueue("old")
    shell.clock.advance(60_000_000)
    shell.enqueue("new")
    assert [job["id"] for job in shell.data("jobs", "list", "--before", "30s")] == ["old"]


def test_pages_follow_each_other_by_cursor(shell):
    shell.enqueue(*(f"j{n}" for n in range(5)))
    first = shell("jobs", "list", "-n", "3", "-o", "ndjson")
    cursor = first.stderr.split("--after ")[1].strip()
    rest = shell("jobs", "list", "-n", "3", "--after", cursor, "-o", "ndjson")
    assert first.stdout.count("\n") == 3
    assert rest.stdout.count("\n") == 2
    assert "--after" not in rest.stderr


def test_a_field_that_is_a_list_is_found_by_its_values(shell):
    shell.enqueue("wanted", fields={"to": ("ann", 62)})
    shell.enqueue("other", fields={"to": ()})
    (told,) = shell.data("jobs", "list", "-f", "to=62")
    assert told["id"] == "wanted"
    assert shell.data("jobs", "show", "wanted")["fields"] == {"to": ["ann", 62]}


def test_a_field_given_several_times_makes_a_list(shell):
    shell("enqueue", "app:send", "{}", "--raw", "-f", "to=ann", "-f", "n=1", "-f", "to=62")
    (told,) = shell.data("jobs", "list", "-f", "to=62")
    assert shell.data("jobs", "show", told["id"])["fields"] == {"to": ["ann", 62], "n": 1}


def test_a_field_is_looked_for_once(shell):
    assert "given twice" in shell("jobs", "list", "-f", "to=a", "-f", "to=b", code=2).stderr


def test_a_field_needs_a_value(shell):
    assert "NAME=VALUE" in shell("jobs", "list", "-f", "user", code=2).stderr


# -- show ------------------------------------------------------------------------------------------


def test_show_tells_everything_about_a_failed_job(shell):
    shell.fail("a1")
    text = shell("jobs", "show", "a1").stdout
    assert '{"to":"a@x"}' in text
    assert "ValueError: no such user" in text
    assert "Traceback: here" in text


def test_the_last_attempt_of_an_exhausted_job_does_not_read_as_a_retry(shell):
    shell.enqueue("a1", max_attempts=2)
    for _ in range(2):
        (job,) = shell.claim()
        shell.clock.advance(5_470)
        error = Failure(type="RuntimeError", message="boom")
        item = Settlement(id=job.id, token=job.token, outcome=Outcome.RETRY, error=error)
        shell.driver.run(shell.driver.settling.settle(Settle(items=(item,))))

    first, last = shell("jobs", "show", "a1").stdout.partition("attempts\n")[2].splitlines()[:2]
    assert first.endswith("retry, ran 5.47ms: RuntimeError: boom")
    assert last.endswith("failed, no attempt left, ran 5.47ms: RuntimeError: boom")


def test_show_as_data(shell):
    shell.complete("a1", result=b'{"n":[1,2]}')
    job = shell.data("jobs", "show", "a1")
    assert job["payload"] == {"to": "a@x"}
    assert job["result"] == {"n": [1, 2]}
    assert job["history"][0]["outcome"] == "complete"
    assert job["enqueued_at"] == "2023-11-14T22:13:20.000000Z"


def test_bytes_are_shown_in_base_64(shell):
    shell.enqueue("a1", content_type="application/octet-stream")
    assert shell.data("jobs", "show", "a1")["payload"] == {"base64": "eyJ0byI6ImFAeCJ9"}


def test_no_such_job_is_exit_3_and_says_what_next(shell):
    result = shell("jobs", "show", "nope", code=3)
    assert "there is no job nope" in result.stderr
    assert "oxmill jobs list" in result.stderr


# -- explain ---------------------------------------------------------------------------------------


def test_explain_names_the_closed_gate_and_the_command_that_opens_it(shell):
    shell.enqueue("a1")
    shell("queues", "pause", "default", "--reason", "deploy")
    text = shell("jobs", "explain", "a1").stdout
    assert "is paused" in text
    assert ": deploy" in text
    assert "oxmill queues resume default" in text


def test_explain_as_data(shell):
    shell.enqueue("a1")
    told = shell.data("jobs", "explain", "a1")
    assert [gate["name"] for gate in told["gates"] if not gate["open"]] == ["worker"]


def test_explain_knows_the_workers(shell):
    shell.enqueue("a1")
    info = WorkerInfo(
        id="w", host="h", pid=1, version="0", queues=("default",), slots=1, tasks=("app:else",)
    )
    shell.driver.run(shell.driver.housekeeping.beat(Beat(worker=info, ttl=60_000_000)))
    assert "knows task 'app:send'" in shell("jobs", "explain", "a1").stdout


# -- wait ------------------------------------------------------------------------------------------


def test_wait_gives_the_result_and_exit_0(shell):
    shell.complete("a1")
    assert shell("jobs", "wait", "a1").stdout.split() == ["a1", "succeeded", "42"]


def test_several_jobs_that_were_waited_for_are_one_document(shell):
    shell.complete("a1", "a2")

    assert shell.data("jobs", "wait", "a1")["id"] == "a1"
    assert [job["id"] for job in shell.data("jobs", "wait", "a1", "a2")] == ["a1", "a2"]
    lines = shell("jobs", "wait", "a1", "a2", "-o", "ndjson").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a1", "a2"]


def test_a_wait_that_gives_up_tells_what_has_ended(shell):
    shell.complete("a1")
    shell.enqueue("a2")
    told = shell.data("jobs", "wait", "a1", "a2", "--timeout", "10ms", code=5)
    assert [job["id"] for job in told] == ["a1"]


def test_wait_for_a_failed_job_is_exit_1(shell):
    shell.fail("a1")
    assert "no such user" in shell("jobs", "wait", "a1", code=1).stdout


def test_wait_gives_up_with_exit_5_and_says_how_to_find_out_why(shell):
    shell.enqueue("a1")
    result = shell("jobs", "wait", "a1", "--timeout", "10ms", code=5)
    assert "oxmill jobs explain a1" in result.stderr


def test_wait_ends_when_the_job_ends(shell):
    shell.enqueue("a1")
    (job,) = shell.claim()

    def settle():
        item = Settlement(id="a1", token=job.token, outcome=Outcome.COMPLETE, result=b"1")
        shell.driver.run(shell.driver.settling.settle(Settle(items=(item,))))

    timer = threading.Timer(0.05, settle)
    timer.start()
    shell("jobs", "wait", "a1", "--timeout", "30s")
    timer.join()


# -- retry, cancel, edit, rm -----------------------------------------------------------------------


def test_retry_by_id(shell):
    shell.fail("a1", "a2")
    assert shell("jobs", "retry", "a1").stdout == "1 job retried\n"
    assert shell.state("a1") is State.WAITING
    assert shell.state("a2") is State.FAILED


def test_retry_by_filter_asks_first(shell):
    shell.fail("a1", "a2")
    result = shell("jobs", "retry", "-q", "default", code=2)
    assert "would retry 2 jobs: add --yes" in result.stderr
    assert shell.state("a1") is State.FAILED
    assert shell.data("jobs", "retry", "-q", "default", "--yes")["retried"]
    assert shell.state("a1") is shell.state("a2") is State.WAITING


def test_cancelled_jobs_are_retried_only_when_asked_for(shell):
    shell.fail("failed")
    shell.enqueue("dropped")
    shell("jobs", "cancel", "dropped")
    assert shell.data("jobs", "retry", "-q", "default", "--yes")["retried"] == ["failed"]
    assert shell.data("jobs", "retry", "-s", "cancelled", "--yes")["retried"] == ["dropped"]


def test_dry_run_changes_nothing(shell):
    shell.fail("a1")
    result = shell("jobs", "retry", "-q", "default", "--dry-run")
    assert "would retry 1 job; nothing was changed" in result.stderr
    assert shell.state("a1") is State.FAILED


def test_a_job_that_cannot_be_retried_is_told_apart(shell):
    shell.fail("a1")
    shell.enqueue("a2")
    result = shell("jobs", "retry", "a1", "a2", code=1)
    assert "job a2 is waiting: left as it is" in result.stderr


def test_retry_of_an_unknown_job_changes_nothing(shell):
    shell.fail("a1")
    assert "nope" in shell("jobs", "retry", "a1", "nope", code=3).stderr
    assert shell.state("a1") is State.FAILED


def test_cancel_ends_idle_jobs_and_asks_running_ones(shell):
    shell.enqueue("runs")
    shell.claim()
    shell.enqueue("waits")
    done = shell.data("jobs", "cancel", "runs", "waits", "--reason", "not needed")
    assert done == {"cancelled": ["waits"], "asked": ["runs"]}
    found = shell.driver.run(shell.driver.inspecting.get(Get(ids=("waits", "runs"))))
    assert [(job.state, job.cancel_requested) for job in found] == [
        (State.CANCELLED, False),
        (State.RUNNING, True),
    ]
    assert found[0].reason == "not needed"


def test_edit_moves_a_job(shell):
    shell.enqueue("a1", delay=60_000_000)
    shell("jobs", "edit", "a1", "--delay", "0s", "--to-queue", "mail", "--priority", "-5")
    job = shell.data("jobs", "show", "a1")
    assert (job["state"], job["queue"], job["priority"]) == ("waiting", "mail", -5)


def test_edit_walks_through_all_that_match(shell):
    shell.enqueue(*(f"j{n}" for n in range(1_200)))
    words = ("jobs", "edit", "-q", "default", "--priority", "7", "--yes")
    assert len(shell.data(*words)["edited"]) == 1_200


def test_edit_needs_a_change(shell):
    shell.enqueue("a1")
    assert "nothing to change" in shell("jobs", "edit", "a1", code=2).stderr


def test_rm_asks_even_for_one_id(shell):
    shell.fail("a1")
    assert "add --yes" in shell("jobs", "rm", "a1", code=2).stderr
    shell("jobs", "rm", "a1", "--yes")
    assert shell.state("a1") is None


def test_rm_by_filter_in_several_steps(shell):
    shell.enqueue(*(f"j{n}" for n in range(1_200)))
    assert len(shell.data("jobs", "rm", "-s", "waiting", "--yes")["removed"]) == 1_200


@pytest.mark.parametrize("verb", ["retry", "cancel", "rm"])
def test_an_order_without_jobs_is_refused(shell, verb):
    assert "no job was named" in shell("jobs", verb, code=2).stderr


def test_ids_and_filters_do_not_mix(shell):
    shell.fail("a1")
    assert "not both" in shell("jobs", "retry", "a1", "-q", "default", code=2).stderr


def test_an_order_that_does_not_fit_the_state_is_refused(shell):
    assert "failed, cancelled jobs only" in shell("jobs", "retry", "-s", "running", code=2).stderr
