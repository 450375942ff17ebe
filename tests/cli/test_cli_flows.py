"""`oxmill flows`."""

import pytest

from oxmill.model.flow import FlowStep, NewFlow
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settlement import Failure, Outcome, Settle, Settlement
from oxmill.model.state import State


@pytest.fixture
def flow(shell):
    """A flow of two pages and what waits for them."""

    def make(flow_id="f1", name="import", **more):
        jobs = tuple(
            NewJob(id=f"{flow_id}.{n}", queue="default", task=f"app:{task}", payload=b"{}",
                   flow=flow_id, after=after)
            for n, (task, after) in enumerate(
                [("fetch", ()), ("fetch", ()), ("merge", (f"{flow_id}.0", f"{flow_id}.1"))]
            )
        )  # fmt: skip
        new = NewFlow(id=flow_id, name=name, **more)
        shell.driver.run(shell.driver.enqueueing.enqueue(Enqueue(jobs=jobs, flow=new)))
        return flow_id

    return make


def settle(shell, outcome=Outcome.COMPLETE, **more):
    """End all jobs that wait."""
    items = tuple(
        Settlement(id=job.id, token=job.token, outcome=outcome, **more) for job in shell.claim()
    )
    shell.driver.run(shell.driver.settling.settle(Settle(items=items)))


def test_list_is_a_table_of_the_newest_first(shell, flow):
    flow("f1", fields={"user_id": 62})
    flow("f2", name="export")
    lines = shell("flows", "list").stdout.splitlines()
    assert lines[0].split() == ["ID", "NAME", "STATUS", "JOBS", "STARTED", "TOOK", "FIELDS"]
    assert lines[1].split()[:4] == ["f2", "export", "running", "0/3"]
    assert lines[2].split()[:4] == ["f1", "import", "running", "0/3"]
    assert lines[2].endswith("user_id=62")
    assert shell("flows").stdout == shell("flows", "list").stdout


def test_a_list_is_shown_and_found_by_its_values(shell, flow):
    flow("f1", fields={"to": ("ann", "bob"), "n": 1})
    flow("f2", name="export")
    assert shell("flows", "list").stdout.splitlines()[2].endswith("to=ann,bob n=1")
    (told,) = shell.data("flows", "list", "-f", "to=bob")
    assert (told["id"], told["fields"]) == ("f1", {"to": ["ann", "bob"], "n": 1})


@pytest.mark.parametrize(
    "words", [("--name", "import"), ("-s", "succeeded"), ("-f", "user_id=62")], ids=lambda w: w[0]
)
def test_list_filters(shell, flow, words):
    flow("f1", fields={"user_id": 62})
    settle(shell)
    settle(shell)
    flow("f2", name="export")
    assert [each["id"] for each in shell.data("flows", "list", *words)] == ["f1"]


def test_pages_follow_each_other_by_cursor(shell, flow):
    for number in range(3):
        flow(f"f{number}")
    first = shell("flows", "list", "-n", "2", "-o", "ndjson")
    cursor = first.stderr.split("--after ")[1].strip()
    rest = shell("flows", "list", "-n", "2", "--after", cursor, "-o", "ndjson")
    assert (first.stdout.count("\n"), rest.stdout.count("\n")) == (2, 1)


def test_nothing_found_says_so(shell):
    assert "no flow matches" in shell("flows", "list").stderr


def test_show_draws_the_tree_with_states(shell, flow):
    flow("f1", state={"n": b"[1,2]"}, fields={"user_id": 62})
    (first, second) = shell.claim()
    child = NewJob(id="f1.0.1.0", queue="parts", task="app:part", payload=b"{}")
    step = FlowStep(spawn=(child,), resume="then#1", merge={"seen": b"true"})
    items = (
        Settlement(id=first.id, token=first.token, outcome=Outcome.COMPLETE, flow=step),
        Settlement(id=second.id, token=second.token, outcome=Outcome.COMPLETE),
    )
    shell.driver.run(shell.driver.settling.settle(Settle(items=items)))
    text = shell("flows", "show", "f1").stdout

    assert '{"n":[1,2],"seen":true}' in text
    assert text.split("\n\n")[1].splitlines() == [
        "├─ app:fetch  held (children)  f1.0",
        "│  └─ app:part  waiting  f1.0.1.0",
        "├─ app:fetch  succeeded  f1.1",
        "└─ app:merge  held  f1.2  after .0 .1",
    ]
    assert "… and 2 more; add -n 4" in shell("flows", "show", "f1", "-n", "2").stdout
    data = shell.data("flows", "show", "f1")
    assert [(job["id"], job["parent"], job["after"]) for job in data["jobs"]] == [
        ("f1.0", None, []),
        ("f1.1", None, []),
        ("f1.2", None, ["f1.0", "f1.1"]),
        ("f1.0.1.0", "f1.0", []),
    ]
    assert data["state"] == {"n": [1, 2], "seen": True}


def test_show_draws_for_other_programs(shell, flow):
    flow("f1")
    drawn = shell("flows", "show", "f1", "--draw", "mermaid").stdout
    assert drawn.startswith("flowchart TD\n")
    assert "  n0 --> n2" in drawn
    assert shell("flows", "show", "f1", "--draw", "dot").stdout.startswith('digraph "import" {')


def test_show_tells_which_step_handed_over(shell):
    steps = tuple(
        NewJob(
            id=f"p.{n}",
            queue="default",
            task="step",
            payload=b'{"pipeline":"pipe","way":[["step",0]],"at":0,"number":%d}' % n,
            flow="p",
        )
        for n in (0, 1)
    )
    enqueue = Enqueue(jobs=steps, flow=NewFlow(id="p", name="pipe"))
    shell.driver.run(shell.driver.enqueueing.enqueue(enqueue))

    tree = shell("flows", "show", "p").stdout.split("\n\n")[1].splitlines()
    assert tree == ["├─ step  waiting  p.0", "└─ step  waiting  p.1  handed over by .0"]
    jobs = shell.data("flows", "show", "p")["jobs"]
    assert [job["handed_over_by"] for job in jobs] == [None, "p.0"]


def test_a_drawing_is_no_data(shell, flow):
    flow("f1")
    for form in ("json", "ndjson"):
        result = shell("flows", "show", "f1", "--draw", "mermaid", "-o", form, code=2)
        assert "--draw prints a graph" in result.stderr


def test_no_such_flow_is_exit_3(shell):
    for words in (("show", "x"), ("cancel", "x"), ("retry", "x")):
        told = shell("flows", *words, code=3).stderr
        assert "there is no flow x" in told
        assert "oxmill flows list" in told


def test_cancel_ends_the_whole_flow(shell, flow):
    flow("f1")
    result = shell("flows", "cancel", "f1", "--reason", "no need", "--yes")
    assert "cancelled" in result.stdout
    assert shell.state("f1.0") is State.CANCELLED
    assert shell.data("flows", "show", "f1")["status"] == "failed"


def test_cancel_ends_some_jobs_of_it(shell, flow):
    flow("f1")
    assert shell.data("flows", "cancel", "f1", "f1.0", "--yes")["cancelled"] == 1
    assert shell.state("f1.0") is State.CANCELLED
    assert shell.state("f1.2") is State.FAILED
    assert "has no job zzz" in shell("flows", "cancel", "f1", "zzz", code=3).stderr


def test_retry_drives_what_failed_again(shell, flow):
    flow("f1")
    settle(shell, Outcome.FAIL, error=Failure(type="ValueError"))
    assert shell.data("flows", "list")[0]["status"] == "failed"
    assert shell.data("flows", "retry", "f1", "-y") == {"flow": "f1", "retried": 3}
    assert shell.state("f1.0") is State.WAITING
    assert shell.state("f1.2") is State.HELD
    flow("f2")
    for stranger in ("zzz", "f2.0"):
        told = shell("flows", "retry", "f1", "f1.0", stranger, code=3)
        assert f"flow f1 has no job {stranger}. Look with: oxmill flows show f1" in told.stderr


@pytest.mark.parametrize(("verb", "count"), [("cancel", 3), ("retry", 2)])
def test_orders_about_a_flow_are_counted_and_want_a_yes(shell, flow, verb, count):
    flow("f1")
    if verb == "retry":
        (first, _) = shell.claim()
        item = Settlement(id=first.id, token=first.token, outcome=Outcome.FAIL)
        shell.driver.run(shell.driver.settling.settle(Settle(items=(item,))))
    before = shell.data("flows", "show", "f1")

    dry = shell("flows", verb, "f1", "--dry-run").stderr
    assert dry == f"would {verb} {count} jobs; nothing was changed\n"
    refused = shell("flows", verb, "f1", code=2).stderr
    assert f"would {verb} {count} jobs: add --yes" in refused
    assert "would retry 0 jobs" in shell("flows", "retry", "f1", "f1.1", "--dry-run").stderr
    assert shell.data("flows", "show", "f1")["counts"] == before["counts"]


def test_an_order_that_finds_nothing_to_do_is_exit_1_for_flows_as_for_jobs(shell, flow):
    flow("f1")
    settle(shell)
    settle(shell)
    for verb in ("cancel", "retry"):
        told = shell("flows", verb, "f1", "--yes", code=1).stderr
        assert told == f"flow f1 has no job to {verb}: left as it is\n"
        assert "left as it is" in shell("jobs", verb, "f1.0", code=1).stderr


def test_jobs_are_listed_by_flow(shell, flow):
    flow("f1")
    shell.enqueue("other")
    assert [job["id"] for job in shell.data("jobs", "list", "--flow", "f1")] == [
        "f1.2",
        "f1.1",
        "f1.0",
    ]


def test_jobs_tell_what_they_wait_for(shell, flow):
    flow("f1")
    told = shell("jobs", "explain", "f1.2").stdout
    assert "it waits for 2 of 2 jobs of its flow: f1.0 is waiting" in told
    assert "oxmill flows show f1" in told
    assert "f1.0, f1.1" in shell("jobs", "show", "f1.2").stdout
    (first, _) = shell.claim()
    child = NewJob(id="c", queue="parts", task="app:part", payload=b"{}")
    step = FlowStep(spawn=(child,), resume="then#1")
    item = Settlement(id=first.id, token=first.token, outcome=Outcome.COMPLETE, flow=step)
    shell.driver.run(shell.driver.settling.settle(Settle(items=(item,))))
    told = shell("jobs", "explain", first.id).stdout
    assert "it waits for 1 of 1 job that it has spawned: c is waiting" in told
    shown = shell.data("jobs", "show", first.id)
    assert (shown["joined"], shown["resume"]) == (["c"], "then#1")
