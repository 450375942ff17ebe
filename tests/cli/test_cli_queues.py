"""`oxmill queues`, `oxmill workers`, `oxmill cron`, `oxmill status`, `oxmill doctor`."""

import pytest

from oxmill.model.info import Beat, Command, WorkerInfo
from oxmill.model.job import NewJob
from oxmill.model.rule import PutRules, Rule, RuleKind, Scope
from oxmill.model.schedule import PutSchedules, Schedule
from oxmill.model.state import State

SECOND = 1_000_000

# -- queues ----------------------------------------------------------------------------------------


def test_queues_show_counts_and_the_age_of_the_oldest(shell):
    shell.enqueue("a1", "a2", queue="mail")
    shell.clock.advance(90 * SECOND)
    header, line = shell("queues").stdout.splitlines()
    row = dict(zip(header.split(), line.split(maxsplit=len(header.split()) - 1), strict=False))
    assert (row["QUEUE"], row["WAITING"], row["FAILED"]) == ("mail", "2", "0")
    assert "1m 30s" in line


def test_queues_as_data(shell):
    shell.enqueue("a1", queue="mail")
    shell.fail("a2", queue="mail")
    (queue,) = shell.data("queues", "list", "mail")
    assert queue["counts"] == {"failed": 2}
    assert queue["totals"] == {"failed": 2}
    assert queue["settings"]["keep_failed_seconds"] == 30 * 86_400


def test_pause_closes_and_resume_opens(shell):
    shell.enqueue("a1")
    assert shell("queues", "pause", "default").stdout == "default: paused\n"
    assert shell.claim() == ()
    assert shell("queues", "resume", "default").stdout == "default: open\n"
    assert len(shell.claim()) == 1


def test_resume_does_not_lift_a_block(shell):
    shell("queues", "pause", "mail")
    shell("queues", "block", "mail", "--operator", "--reason", "incident")
    resumed = shell("queues", "resume", "mail")
    assert resumed.stdout == "mail: blocked\n"
    assert "mail is still blocked" in resumed.stderr
    assert "oxmill queues unblock --operator mail" in resumed.stderr
    unblocked = shell("queues", "unblock", "mail", "--operator")
    assert (unblocked.stdout, unblocked.stderr) == ("mail: open\n", "")


def test_a_pause_for_a_time_ends_by_itself(shell):
    shell.enqueue("a1")
    shell("queues", "pause", "default", "--for", "30s")
    shell.clock.advance(29 * SECOND)
    assert shell.claim() == ()
    shell.clock.advance(2 * SECOND)
    assert len(shell.claim()) == 1


SCOPES = [("--task", "app:send"), ("--group", "acme"), ("--field", "user_id=62")]


def add_covered(shell, *ids):
    shell.enqueue(*ids, group="acme", fields={"user_id": 62})


@pytest.mark.parametrize(("option", "target"), SCOPES)
def test_a_task_a_group_or_a_field_is_paused_and_resumed(shell, option, target):
    add_covered(shell, "a1")
    title = f"{option[2:]}:{target}"
    assert shell("queues", "pause", option, target).stdout == f"{title}: paused\n"
    assert shell.claim() == ()
    assert shell("queues", "resume", option, target).stdout == f"{title}: open\n"
    assert len(shell.claim()) == 1


@pytest.mark.parametrize(("option", "target"), SCOPES)
def test_a_block_on_them_stays_when_they_are_resumed(shell, option, target):
    title = f"{option[2:]}:{target}"
    shell("queues", "block", "--operator", option, target, "--for", "5m")
    resumed = shell("queues", "resume", option, target)
    assert resumed.stdout == f"{title}: blocked\n"
    assert f"oxmill queues unblock --operator {option} {target}" in resumed.stderr
    assert shell("queues", "unblock", "--operator", option, target).stdout == f"{title}: open\n"


@pytest.mark.parametrize("where", [("default",), *SCOPES], ids=str)
def test_they_can_be_throttled(shell, where):
    add_covered(shell, "a1", "a2", "a3")
    assert "throttled to 1/min" in shell("queues", "throttle", *where, "--rate", "1/min").stdout
    assert [job.id for job in shell.claim()] == ["a1"]
    assert shell.claim() == ()
    shell("queues", "unthrottle", *where)
    assert [job.id for job in shell.claim()] == ["a2", "a3"]


def test_several_things_are_closed_at_once(shell):
    told = shell.data("queues", "pause", "mail", "reports")
    assert told["queues"] == {"mail": ["paused"], "reports": ["paused"]}
    told = shell.data("queues", "pause", "--group", "acme", "--group", "umbrella")
    assert told["queues"] == {"group:acme": ["paused"], "group:umbrella": ["paused"]}


def test_what_is_closed_is_told_among_very_many_rules(shell):
    rules = tuple(
        Rule(kind=RuleKind.PAUSE, scope=Scope.GROUP, target=f"g{n:04}") for n in range(1_001)
    )
    shell.driver.run(shell.driver.steering.put_rules(PutRules(set=rules)))

    told = shell("queues", "block", "--operator", "--group", "last").stdout

    assert told == "group:last: blocked\n"


@pytest.mark.parametrize("verb", ["block", "unblock"])
def test_a_block_is_for_those_who_say_that_they_are_operators(shell, verb):
    refused = shell("queues", verb, "mail", code=2)

    assert "--operator" in refused.stderr


@pytest.mark.parametrize("verb", ["pause", "block", "throttle", "resume", "unblock", "unthrottle"])
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("mail", "--group", "acme"), "queue mail and --group acme"),
        (("mail", "--task", "app:send"), "queue mail and --task app:send"),
        (("--group", "acme", "--field", "user_id=62"), "--group acme and --field user_id=62"),
    ],
)
def test_a_queue_and_a_group_are_not_closed_by_one_command(shell, verb, words, told):
    rate = ("--rate", "1/s") if verb == "throttle" else ()
    refused = " ".join(shell("queues", verb, *words, *rate, code=2).stderr.split())
    assert told in refused
    assert "a command of its own" in refused
    assert shell.data("queues", "rules") == []


def test_a_rule_needs_something_to_be_about(shell):
    assert "--group" in shell("queues", "pause", code=2).stderr
    assert "is not a rate" in shell("queues", "throttle", "q", "--rate", "often", code=2).stderr


def test_rules_are_listed_with_reason_author_and_end(shell):
    shell("queues", "pause", "mail", "--reason", "deploy", "--for", "5m")
    shell("queues", "throttle", "--group", "acme", "--rate", "5/s")
    text = shell("queues", "rules").stdout
    assert "deploy" in text
    assert "group:acme" in text
    rules = shell.data("queues", "rules")
    assert [(rule["kind"], rule["scope"], rule["target"], rule["rate"]) for rule in rules] == [
        ("pause", "queue", "mail", None),
        ("throttle", "group", "acme", "5/s"),
    ]
    shell("queues", "resume", "mail")
    shell("queues", "unthrottle", "--group", "acme")
    assert "nothing is paused" in shell("queues", "rules").stderr


def test_limits_change_what_is_given_and_keep_the_rest(shell):
    shell("queues", "set", "mail", "--keep-failed", "90d")
    assert (
        shell("queues", "limit", "mail", "--concurrency", "5", "--rate", "100/s").stdout
        == "mail: concurrency=5 rate=100/s\n"
    )
    done = shell.data(
        "queues",
        *("limit", "mail", "--rate", "none", "--group-concurrency", "2", "--group-rate", "1/s"),
        *("--weight", "a=2", "--weight", "b=3", "--ordered", "--ageing", "10m"),
    )["settings"]
    assert done == {
        "keep_succeeded_seconds": 86_400,
        "keep_failed_seconds": 90 * 86_400,
        "keep_cancelled_seconds": 86_400,
        "concurrency": 5,
        "group_concurrency": 2,
        "group_rate": "1/s",
        "group_weights": {"a": 2, "b": 3},
        "ordered_groups": True,
        "ageing_seconds": 600,
    }
    cleared = ("--concurrency", "--group-concurrency", "--group-rate", "--ageing")
    words = [word for option in cleared for word in (option, "none")]
    shell("queues", "limit", "mail", *words, "--no-weights", "--unordered")
    shown = shell("queues", "show", "mail").stdout
    assert ["limits", "none"] in [line.split() for line in shown.splitlines()]


def test_limits_hold_at_once(shell):
    shell.enqueue("a1", "a2", "a3")
    shell("queues", "limit", "default", "--concurrency", "2")
    assert len(shell.claim()) == 2
    shell("queues", "limit", "default", "--concurrency", "none")
    assert len(shell.claim()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "nothing to set"),
        (("--concurrency", "0"), "0 is not in the range"),
        (("--concurrency", "many"), "many"),
        (("--rate", "often"), "is not a rate"),
        (("--weight", "a"), "is not GROUP=N"),
        (("--ageing", "soon"), "is not a length of time"),
    ],
)
def test_senseless_limits_are_refused(shell, words, said):
    assert said in shell("queues", "limit", "mail", *words, code=2).stderr


def test_a_queue_is_shown_with_its_gates_and_rules(shell):
    add_covered(shell, "a1", "a2")
    shell("queues", "limit", "default", "--group-concurrency", "1", "--rate", "2/min burst 2")
    shell.claim()
    shell("queues", "pause", "--group", "acme", "--reason", "why")

    text = shell("queues", "show", "default", "--group", "acme").stdout
    data = shell.data("queues", "show", "default", "-g", "acme")

    assert "1 waiting, 1 running" in text
    assert "group_concurrency=1" in text
    assert "1 running, 1 may start now" in text
    assert "1 of 1 running, 1 waiting" in text
    assert "group:acme: paused by" in text
    assert [(gate["group"], gate["running"]) for gate in data["gates"]] == [(None, 1), ("acme", 1)]
    assert [rule["target"] for rule in data["other_rules"]] == ["acme"]


def test_a_queue_that_the_store_does_not_know_is_exit_3(shell):
    shell.enqueue("a1", queue="mail")
    told = shell("queues", "show", "mial", code=3).stderr
    assert "queue 'mial'. Did you mean mail? See: oxmill queues list" in told


def test_events_tell_who_did_what(shell):
    shell("queues", "pause", "mail", "--reason", "deploy")
    shell("queues", "limit", "mail", "--concurrency", "3")
    shell("queues", "throttle", "--group", "acme", "--rate", "5/s")
    told = shell.data("events")
    assert [(event["kind"], event["target"], event["detail"]) for event in told] == [
        ("pause", "mail", "deploy"),
        ("settings", "mail", "concurrency=3"),
        ("throttle", "group:acme", "5/s"),
    ]
    assert {event["author"] for event in told} != {""}
    assert [event["seq"] for event in shell.data("events", "--on", "mail", "-n", "1")] == [2]
    assert [event["kind"] for event in shell.data("events", "-k", "throttle")] == ["throttle"]
    assert shell.data("events", "--author", "nobody") == []
    assert [event["seq"] for event in shell.data("events", "--after", "2")] == [3]
    assert "group:acme" in shell("events").stdout


def test_set_changes_what_is_given_and_keeps_the_rest(shell):
    shell("queues", "set", "mail", "--keep-failed", "90d")
    done = shell.data("queues", "set", "mail", "--keep-succeeded", "0s")
    assert done["settings"]["keep_succeeded_seconds"] == 0
    assert done["settings"]["keep_failed_seconds"] == 90 * 86_400
    assert "nothing to set" in shell("queues", "set", "mail", code=2).stderr


def test_purge_counts_asks_and_spares_running_jobs(shell):
    shell.enqueue("runs")
    shell.claim()
    shell.enqueue("waits", "waits2")
    refused = shell("queues", "purge", "default", code=2)
    assert "default: 2 waiting" in refused.stderr
    assert shell.state("waits") is State.WAITING
    shell("queues", "purge", "default", "--yes")
    assert shell.state("waits") is None
    assert shell.state("runs") is State.RUNNING


def test_purge_of_one_state(shell):
    shell.fail("a1")
    shell.enqueue("a2")
    shell("queues", "purge", "default", "-s", "failed", "--yes")
    assert shell.state("a1") is None
    assert shell.state("a2") is State.WAITING


# -- workers ---------------------------------------------------------------------------------------


def beat(shell, worker="w123", **more):
    info = WorkerInfo(
        **({"id": worker, "host": "box", "pid": 7, "version": "0", "queues": ("default",)} | more),
        slots=4,
    )
    return shell.driver.run(shell.driver.housekeeping.beat(Beat(worker=info, ttl=60 * SECOND)))


def test_workers_lists_those_with_a_fresh_beat(shell):
    beat(shell)
    assert [one["id"] for one in shell.data("workers")] == ["w123"]
    assert "box:7" in shell("workers").stdout
    shell.clock.advance(61 * SECOND)
    assert "no worker is running" in shell("workers").stderr


def test_a_worker_is_asked_by_the_start_of_its_id(shell):
    beat(shell)
    beat(shell, "x999")
    assert shell.data("workers", "quiet", "w1") == {"asked": ["w123"]}
    assert beat(shell).command is Command.QUIET
    assert beat(shell, "x999").command is Command.NONE
    shell("workers", "stop", "--all")
    assert beat(shell, "x999").command is Command.STOP


def test_an_unknown_worker_is_exit_3(shell):
    assert "no worker nope" in shell("workers", "stop", "nope", code=3).stderr


def test_workers_must_be_named(shell):
    assert "--all" in shell("workers", "stop", code=2).stderr


# -- cron ------------------------------------------------------------------------------------------


def put(shell, **more):
    template = NewJob(id="-", queue="default", task="app:report", payload=b"{}")
    schedule = Schedule(**({"name": "nightly", "job": template, "cron": "0 3 * * *"} | more))
    request = PutSchedules(put=(schedule,))
    shell.driver.run(shell.driver.scheduling.put_schedules(request))


def test_cron_list(shell):
    put(shell)
    put(shell, name="often", cron=None, every=90 * SECOND)
    text = shell("cron").stdout
    assert "0 3 * * *" in text
    assert "every 1m 30s" in text


def test_cron_next_foresees_ticks(shell):
    put(shell)
    assert shell.data("cron", "next", "nightly", "-n", "2")["ticks"] == [
        "2023-11-15T03:00:00.000000Z",
        "2023-11-16T03:00:00.000000Z",
    ]


def test_cron_run_enqueues_at_once_and_prints_the_id(shell):
    put(shell)
    job_id = shell("cron", "run", "nightly").stdout.strip()
    assert shell.state(job_id) is State.WAITING
    assert shell("cron", "run", "nightly").stdout.strip() != job_id


def test_cron_pause_and_resume(shell):
    put(shell)
    assert shell("cron", "pause", "nightly").stdout == "nightly: paused\n"
    assert shell.data("cron")[0]["paused"] is True
    assert shell("cron", "resume", "nightly").stdout == "nightly: open\n"


def test_cron_set_changes_when_it_ticks(shell):
    put(shell)
    said = shell("cron", "set", "nightly", "--cron", "30 4 * * *", "--tz", "Europe/Paris").stdout
    assert said == "nightly: 30 4 * * * Europe/Paris\n"
    words = ("--every", "90s", "--catch-up", "all", "--window", "2h", "--jitter", "5s")
    told = shell.data("cron", "set", "nightly", *words, "--overlap", "skip")
    assert (told["cron"], told["every_seconds"], told["zone"]) == (None, 90, "Europe/Paris")
    assert (told["catch_up"], told["window_seconds"]) == ("all", 7200)
    assert (told["overlap"], told["jitter_seconds"]) == ("skip", 5)
    assert told["source"] not in ("", "code")

    assert "follows the code" in shell("cron", "set", "nightly", "--follow-code").stdout
    assert shell.data("cron")[0]["source"] == "code"


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        ((), 2, "name what to change"),
        (("--cron", "0 4 * * *", "--follow-code"), 2, "name what to change"),
        (("--cron", "nonsense"), 2, "is not a cron expression"),
        (("--tz", "Mars/Olympus"), 2, "is not a time zone"),
        (("--every", "1s", "--cron", "* * * * *"), 2, "cron or every, not both"),
        (("--window", "soon"), 2, "window"),
    ],
)
def test_cron_set_refuses_what_makes_no_sense(shell, words, code, hint):
    put(shell)
    before = shell.data("cron")
    assert hint in shell("cron", "set", "nightly", *words, code=code).stderr
    assert shell.data("cron") == before


def test_cron_rm_removes_for_good(shell):
    put(shell)
    put(shell, name="hourly")
    assert shell("cron", "rm", "nightly").stdout == "nightly: removed\n"
    assert [one["name"] for one in shell.data("cron")] == ["hourly"]
    assert "no schedule 'nightly'" in shell("cron", "rm", "nightly", code=3).stderr


def test_an_unknown_schedule_is_exit_3_with_the_nearest_name(shell):
    put(shell)
    assert "Did you mean nightly?" in shell("cron", "next", "nihgtly", code=3).stderr
    assert "Did you mean nightly?" in shell("cron", "pause", "nihgtly", code=3).stderr
    assert "Did you mean nightly?" in shell("cron", "set", "nihgtly", "--tz", "UTC", code=3).stderr


# -- status and doctor -----------------------------------------------------------------------------


def test_status_names_queues_workers_and_what_is_wrong(shell):
    shell.enqueue("a1", queue="mail")
    beat(shell)
    result = shell("status")
    assert "mail" in result.stdout
    assert "w123" in result.stdout
    assert "queue mail: 1 waiting, no worker serves it" in result.stderr
    assert "oxmill worker -q mail" in result.stderr


def test_status_as_data(shell):
    shell.enqueue("a1", queue="mail")
    status = shell.data("status")
    assert status["store"] == "memory://"
    assert [one["name"] for one in status["problems"]] == ["queue mail"]


def test_doctor_tells_the_findings_of_the_store_and_of_the_jobs(shell):
    shell.enqueue("a1", queue="mail")
    text = shell("doctor").stdout
    assert "all jobs are lost when the process ends" in text
    assert "no worker serves it" in text


def test_doctor_is_strict_on_demand(shell):
    shell("doctor")
    assert shell.data("doctor", "--strict", code=1)["findings"][0]["level"] == "warn"
