"""Explaining a job is a pure decision: given a situation, the gates and one sentence."""

import pytest

from oxmill.model.info import GateInfo, QueueInfo, WorkerInfo
from oxmill.model.job import Attempt, Job, Reason
from oxmill.model.rule import Rule, RuleKind, Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.settlement import Failure
from oxmill.model.state import State
from oxmill.rules.explain import explain
from oxmill.rules.situation import Situation

NOW = 1_000_000_000_000
SECOND = 1_000_000


def job(**changes):
    values = {
        "id": "j1",
        "queue": "mail",
        "task": "app:send",
        "state": State.WAITING,
        "payload": b"{}",
        "content_type": "application/json",
        "priority": 0,
        "attempt": 0,
        "failures": 0,
        "crashes": 0,
        "max_attempts": 20,
        "crash_limit": 3,
        "enqueued_at": NOW - 5 * SECOND,
        "due_at": NOW - 5 * SECOND,
    }
    return Job(**(values | changes))


def worker(**changes):
    values = {
        "id": "w1",
        "host": "h",
        "pid": 1,
        "version": "0",
        "queues": ("mail",),
        "slots": 4,
        "tasks": ("app:send",),
    }
    return WorkerInfo(**(values | changes))


def queue(*rules):
    return QueueInfo(
        name="mail",
        counts={},
        totals={},
        oldest_waiting=None,
        rules=rules,
        settings=QueueSettings(),
    )


def limited(*gates, rules=(), **settings):
    return QueueInfo(
        name="mail",
        counts={},
        totals={},
        oldest_waiting=None,
        rules=rules,
        settings=QueueSettings(**settings),
        gates=(*gates,),
    )


def told(**situation):
    return explain(Situation(**({"job": job(), "now": NOW, "workers": (worker(),)} | situation)))


def closed(explanation):
    return [gate.name for gate in explanation.closed]


def test_nothing_in_the_way():
    told_ = told()
    assert closed(told_) == []
    assert "every gate is open" in told_.summary


@pytest.mark.parametrize(
    ("situation", "gate", "words"),
    [
        ({"workers": ()}, "worker", "none is running"),
        ({"workers": (worker(queues=("other",)),)}, "worker", "served: other"),
        ({"workers": (worker(tasks=("app:else",)),)}, "task", "knows task 'app:send'"),
        ({"workers": (worker(phase="quiet"),)}, "worker", "is quiet"),
        ({"workers": (worker(running=4),)}, "slots", "all 4 slots are busy"),
        (
            {"job": job(state=State.SCHEDULED, due_at=NOW + 90 * SECOND)},
            "due time",
            "due in 1m 30s",
        ),
        ({"job": job(expires_at=NOW - SECOND)}, "expiry", "expired 1s ago"),
        (
            {"queue": queue(Rule(kind=RuleKind.PAUSE, target="mail", reason="deploy"))},
            "pause",
            "is paused: deploy",
        ),
        (
            {"queue": queue(Rule(kind=RuleKind.BLOCK, target="mail", author="ada"))},
            "block",
            "is blocked by ada",
        ),
        (
            {"queue": queue(Rule(kind=RuleKind.PAUSE, target="app:send", scope=Scope.TASK))},
            "pause",
            "task 'app:send' is paused",
        ),
    ],
)
def test_one_closed_gate(situation, gate, words):
    told_ = told(**situation)
    assert closed(told_) == [gate]
    assert words in told_.summary


@pytest.mark.parametrize(
    "rule",
    [
        Rule(kind=RuleKind.PAUSE, target="mail", expires_at=NOW),
        Rule(kind=RuleKind.PAUSE, target="other"),
        Rule(kind=RuleKind.PAUSE, target="app:else", scope=Scope.TASK),
    ],
)
def test_a_rule_that_does_not_cover_the_job_closes_nothing(rule):
    assert closed(told(queue=queue(rule))) == []


def test_a_pause_and_a_block_are_told_apart_with_the_command_that_lifts_each():
    rules = queue(
        Rule(kind=RuleKind.PAUSE, target="mail"), Rule(kind=RuleKind.BLOCK, target="mail")
    )
    remedies = [gate.remedy for gate in told(queue=rules).closed]
    assert remedies == ["oxmill queues resume mail", "oxmill queues unblock --operator mail"]


def test_a_retry_names_the_failure_it_waits_for():
    retried = job(
        state=State.SCHEDULED,
        due_at=NOW + SECOND,
        failures=2,
        attempt=2,
        error=Failure(type="ValueError"),
    )
    assert "after failure 2 of 20 (ValueError)" in told(job=retried).summary


def test_a_job_that_its_worker_did_not_know_tells_so():
    unknown = Failure(type="TaskNotFound", message="the worker knows no step 'whole.merge'")
    last = Attempt(attempt=3, worker="w7", claimed_at=NOW, outcome="snooze", error=unknown)
    put_off = job(state=State.SCHEDULED, due_at=NOW + SECOND, error=unknown, history=(last,))
    told_ = told(job=put_off)

    assert "w7 took it last, but the worker knows no step 'whole.merge'" in told_.summary
    assert told_.closed[0].remedy.startswith("start a worker with the code that declares it")


def test_several_closed_gates_are_counted():
    told_ = told(job=job(state=State.SCHEDULED, due_at=NOW + SECOND), workers=())
    assert closed(told_) == ["due time", "worker"]
    assert told_.summary.endswith("and 1 more gate closed")


def test_a_claimed_job_does_not_expire():
    assert closed(told(job=job(expires_at=NOW - SECOND, attempt=1))) == []


def test_a_held_successor_names_the_holder_of_its_key():
    held = job(state=State.HELD, reason=Reason.RERUN, unique="k")
    told_ = told(job=held, holder=job(id="j0", state=State.RUNNING))
    assert "unique key 'k': j0 is running" in told_.summary
    assert told_.closed[0].remedy == "oxmill jobs explain j0"


def test_a_running_job_tells_of_its_worker_and_lease():
    running = job(
        state=State.RUNNING,
        attempt=2,
        worker="w1",
        claimed_at=NOW - 3 * SECOND,
        lease_until=NOW + 57 * SECOND,
    )
    told_ = told(job=running)
    assert told_.summary == "running for 3s as attempt 2"
    assert closed(told_) == []


def test_a_running_job_whose_worker_is_gone():
    running = job(
        state=State.RUNNING,
        worker="w0",
        claimed_at=NOW - 90 * SECOND,
        lease_until=NOW - SECOND,
        cancel_requested=True,
    )
    assert closed(told(job=running)) == ["worker", "lease", "cancel"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": State.SUCCEEDED, "attempt": 1}, "succeeded in attempt 1"),
        ({"state": State.FAILED, "reason": Reason.POISON, "crashes": 3}, "lapsed 3 times"),
        (
            {
                "state": State.FAILED,
                "reason": Reason.EXHAUSTED,
                "failures": 20,
                "error": Failure(type="OSError", message="no route"),
            },
            "20 of 20 attempts; the last: OSError: no route",
        ),
        ({"state": State.FAILED, "reason": Reason.REFUSED}, "not tried again"),
        ({"state": State.CANCELLED, "reason": Reason.EXPIRED}, "had not started"),
        ({"state": State.CANCELLED, "reason": "not needed"}, "cancelled: not needed"),
        ({"state": State.FAILED}, "no reason was recorded"),
    ],
)
def test_how_a_job_ended(changes, words):
    assert words in told(job=job(**changes)).summary


def test_a_failed_job_names_the_command_that_runs_it_again():
    assert told(job=job(state=State.FAILED)).remedy == "oxmill jobs retry j1"
    assert told(job=job(state=State.SUCCEEDED)).remedy == ""


def test_an_item_of_a_plain_queue_needs_no_worker():
    assert closed(told(job=job(task="oxmill:bytes"), workers=())) == []


# -- limits ----------------------------------------------------------------------------------------

GROUPED = job(group="acme", fields={"user_id": 62})
BUSY = job(id="j0", state=State.RUNNING, group="acme", worker="w7")


@pytest.mark.parametrize(
    ("queue", "gate", "words", "opens_at"),
    [
        (
            limited(GateInfo(group=None, running=3), concurrency=3),
            "queue concurrency",
            "3 of 3 jobs of queue 'mail' running: j0 by w7",
            None,
        ),
        (
            limited(
                GateInfo(group=None, running=1),
                GateInfo(group="acme", running=1),
                group_concurrency=1,
            ),
            "group concurrency",
            "1 of 1 jobs of group 'acme' running: j0 by w7",
            None,
        ),
        (
            limited(
                GateInfo(group=None, running=1),
                GateInfo(group="acme", running=1),
                ordered_groups=True,
            ),
            "group concurrency",
            "one at a time and in order: j0 by w7",
            None,
        ),
        (
            limited(
                GateInfo(group=None, running=0, room=0, paced_until=NOW + 2 * SECOND), rate="1/5s"
            ),
            "queue rate",
            "the rate 1/5s is used up for queue 'mail'; the next job may start in 2s",
            NOW + 2 * SECOND,
        ),
        (
            limited(
                GateInfo(group=None, running=0),
                GateInfo(group="acme", running=0, room=0, paced_until=NOW + 2 * SECOND),
                group_rate="1/5s",
            ),
            "group rate",
            "the rate 1/5s is used up for group 'acme'",
            NOW + 2 * SECOND,
        ),
        (
            limited(
                GateInfo(group=None, running=0),
                GateInfo(group="acme", running=0, closed_until=NOW + 2 * SECOND),
            ),
            "group rate",
            "somebody asked to wait for group 'acme'",
            NOW + 2 * SECOND,
        ),
        (
            limited(
                GateInfo(group=None, running=0, room=0, throttled_until=NOW + 2 * SECOND),
                rules=(Rule(kind=RuleKind.THROTTLE, target="mail", rate="1/5s"),),
            ),
            "throttle",
            "queue 'mail' is throttled to 1/5s; the next job may start in 2s",
            NOW + 2 * SECOND,
        ),
    ],
)
def test_a_limit_in_the_way(queue, gate, words, opens_at):
    told_ = told(job=GROUPED, queue=queue, running=(BUSY,))

    assert closed(told_) == [gate]
    assert words in told_.summary
    assert told_.runs_at == opens_at


def test_limits_that_are_not_in_the_way_tell_their_numbers():
    whole = GateInfo(group=None, running=2, room=4)
    group = GateInfo(group="acme", running=1, room=1)
    info = limited(whole, group, concurrency=3, rate="40/s", group_concurrency=2, group_rate="10/s")

    told_ = told(job=GROUPED, queue=info)

    assert closed(told_) == []
    assert [gate.detail for gate in told_.gates if gate.name.startswith(("queue", "group"))] == [
        "2 of 3 jobs of queue 'mail' running",
        "queue 'mail' may start 4 now of 40/s",
        "1 of 2 jobs of group 'acme' running",
        "group 'acme' may start 1 now of 10/s",
    ]
    assert told_.runs_at == NOW


@pytest.mark.parametrize(
    ("scope", "target"),
    [(Scope.TASK, "app:send"), (Scope.GROUP, "acme"), (Scope.FIELD, "user_id=62")],
)
@pytest.mark.parametrize(
    ("kind", "lift"),
    [
        (RuleKind.PAUSE, "resume"),
        (RuleKind.BLOCK, "unblock --operator"),
        (RuleKind.THROTTLE, "unthrottle"),
    ],
)
def test_a_rule_on_a_task_a_group_or_a_field_in_the_way(scope, target, kind, lift):
    ends = NOW + 60 * SECOND
    rule = Rule(kind=kind, scope=scope, target=target, rate="1/min", expires_at=ends)

    told_ = told(job=GROUPED, rules=(rule,), opens=(ends,))

    assert closed(told_) == [str(kind)]
    assert f"{scope} {target!r} is " in told_.summary
    assert told_.closed[0].remedy == f"oxmill queues {lift} --{scope} {target}"
    assert told_.runs_at == ends


def test_a_rule_on_a_field_covers_a_list_that_holds_its_value():
    rule = Rule(kind=RuleKind.PAUSE, scope=Scope.FIELD, target="user_id=62")

    assert closed(told(job=job(fields={"user_id": (7, 62)}), rules=(rule,))) == ["pause"]
    assert closed(told(job=job(fields={"user_id": (6, 2)}), rules=(rule,))) == []


def test_an_open_throttle_is_told_and_not_in_the_way():
    rule = Rule(kind=RuleKind.THROTTLE, scope=Scope.GROUP, target="acme", rate="1/min")

    told_ = told(job=GROUPED, rules=(rule,), opens=(0,))

    assert closed(told_) == []
    assert "group 'acme' is throttled to 1/min" in [gate.detail for gate in told_.gates]


def test_when_a_job_can_run_is_known_only_if_every_gate_opens_by_itself():
    late = job(state=State.SCHEDULED, due_at=NOW + 5 * SECOND)
    pause = Rule(kind=RuleKind.PAUSE, target="mail", expires_at=NOW + 9 * SECOND)
    block = Rule(kind=RuleKind.BLOCK, target="mail")

    assert told(job=late).runs_at == NOW + 5 * SECOND
    assert told(job=late, queue=queue(pause)).runs_at == NOW + 9 * SECOND
    assert told(job=late, queue=queue(pause, block)).runs_at is None
    assert told(job=job(state=State.SUCCEEDED)).runs_at is None


def test_a_held_job_names_what_it_waits_for():
    held = job(state=State.HELD, reason=Reason.CHILDREN, joined=("c1", "c2"), flow="f")

    told_ = told(job=held, missing=(job(id="c2", state=State.RUNNING),))

    assert closed(told_) == ["dependencies"]
    assert "1 of 2 jobs that it has spawned: c2 is running" in told_.summary
    assert told_.closed[0].remedy == "oxmill flows show f"
