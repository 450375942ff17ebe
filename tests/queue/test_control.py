"""What people do to queues and jobs."""

import getpass
import socket
from datetime import UTC, datetime, timedelta

import pytest

from oxmill import BadInput, NotAllowed, QueueSettings, State
from oxmill.model.info import Beat, Command, WorkerInfo
from oxmill.model.rule import RuleKind
from oxmill.store.capabilities import Capability

SECOND = 1_000_000


@pytest.fixture
def send(app):
    @app.task(name="send", queue="mail")
    def send(to: str) -> None: ...

    return send


# -- rules -----------------------------------------------------------------------------------------


def test_a_paused_queue_gives_nothing_until_it_is_resumed(app, send, face):
    face(send, "enqueue", "a")

    assert face(app.control, "pause", "mail", reason="maintenance", author="ann")
    assert not face(app.control, "pause", "mail", reason="maintenance", author="ann")

    (rule,) = face(app, "queues", "mail")[0].rules
    assert (rule.kind, rule.reason, rule.author) == (RuleKind.PAUSE, "maintenance", "ann")
    assert app.queue("mail").lease(10) is None
    assert face(app.control, "resume", "mail")
    assert not face(app.control, "resume", "mail")
    assert app.queue("mail").lease(10) is not None


def test_a_resume_does_not_lift_a_block(app, send, face):
    face(send, "enqueue", "a")
    face(app.control, "block", "mail", "incident", "op", operator=True)

    assert not face(app.control, "resume", "mail")
    assert app.queue("mail").lease(10) is None
    assert face(app.control, "unblock", "mail", operator=True)
    assert app.queue("mail").lease(10) is not None


def test_a_rule_ends_by_itself(app, send, face, clock):
    face(send, "enqueue", "a")
    face(app.control, "pause", "mail", expires="5m")
    clock.advance(299 * SECOND)
    assert app.queue("mail").lease(10) is None

    clock.advance(2 * SECOND)

    assert app.queue("mail").lease(10) is not None


def test_a_rule_may_end_at_a_moment(app, send, face, clock):
    end = datetime.fromtimestamp(clock.now / SECOND, tz=UTC) + timedelta(minutes=1)
    face(app.control, "block", "mail", expires=end, operator=True)

    (rule,) = face(app, "queues", "mail")[0].rules

    assert rule.expires_at == clock.now + 60 * SECOND


def test_settings_are_replaced(app, send, face):
    face(app.control, "configure", "mail", QueueSettings(keep_succeeded=0), author="ann")
    job = face(send, "enqueue", "a")
    app.queue("mail").lease(10).complete()

    assert list(app.jobs(queue="mail")) == []
    assert face(app, "queues", "mail")[0].settings.keep_succeeded == 0
    assert job.created


# -- rules on other things than queues -------------------------------------------------------------


@pytest.fixture
def gated(app):
    """An app whose store has limits and rules of all kinds."""
    if Capability.LIMITS | Capability.SCOPED_RULES not in app.driver.capabilities:
        pytest.skip(f"{app.driver.name} does not declare them")
    return app


TARGETS = [
    {"task": "send"},
    {"group": "acme"},
    {"field": {"user_id": 62}},
    {"field": "user_id=62"},
]


def add_covered(send, face):
    call = send.using(group="acme", fields={"user_id": 62})
    return face(call, "enqueue", "a")


@pytest.mark.parametrize("on", TARGETS, ids=str)
def test_a_task_a_group_or_a_field_is_paused_and_resumed(gated, send, face, on):
    add_covered(send, face)
    gated.queue("mail").add(b"other")

    assert face(gated.control, "pause", reason="why", author="ann", **on)
    assert not face(gated.control, "pause", reason="why", author="ann", **on)
    assert gated.queue("mail").lease(10).data == b"other"
    assert gated.queue("mail").lease(10) is None
    assert face(gated.control, "resume", **on)
    assert not face(gated.control, "resume", **on)

    assert gated.queue("mail").lease(10) is not None


@pytest.mark.parametrize("on", TARGETS, ids=str)
def test_a_block_on_them_is_not_lifted_by_a_resume(gated, send, face, on):
    add_covered(send, face)
    assert face(gated.control, "block", expires="5m", operator=True, **on)

    assert not face(gated.control, "resume", **on)
    assert gated.queue("mail").lease(10) is None
    assert face(gated.control, "unblock", operator=True, **on)
    assert gated.queue("mail").lease(10) is not None


@pytest.mark.parametrize("on", [*TARGETS, {"queue": "mail"}], ids=str)
def test_they_can_be_throttled(gated, send, face, clock, on):
    for _ in range(3):
        add_covered(send, face)
    assert face(gated.control, "throttle", rate="1/min", **on)
    assert gated.queue("mail").lease(600) is not None
    assert gated.queue("mail").lease(600) is None
    clock.advance(60 * SECOND)
    assert gated.queue("mail").lease(600) is not None
    assert gated.queue("mail").lease(600) is None

    assert face(gated.control, "unthrottle", **on)
    assert not face(gated.control, "unthrottle", **on)

    assert gated.queue("mail").lease(600) is not None


@pytest.mark.parametrize(
    "on",
    [{}, {"queue": "mail", "task": "send"}, {"field": {"a": 1, "b": 2}}, {"field": "user_id"}],
    ids=str,
)
def test_a_rule_is_about_one_thing(gated, face, on):
    with pytest.raises(BadInput):
        face(gated.control, "pause", **on)


def test_every_change_is_recorded_with_its_author(gated, face):
    face(gated.control, "pause", task="send", reason="why", author="ann")
    face(gated.control, "throttle", group="acme", rate="5/s", author="bob")
    face(gated.control, "resume", task="send", author="eve")
    face(gated.control, "limit", "mail", concurrency=5, rate="10/s", author="ann")

    assert [(e.kind, e.target, e.author, e.detail) for e in face(gated, "events")] == [
        ("pause", "task:send", "ann", "why"),
        ("throttle", "group:acme", "bob", "5/s"),
        ("resume", "task:send", "eve", ""),
        ("settings", "mail", "ann", "concurrency=5 rate=10/s"),
    ]


# -- limits ----------------------------------------------------------------------------------------


def test_limits_hold_at_once_and_are_taken_away_again(gated, send, face):
    for _ in range(4):
        face(send, "enqueue", "a")

    face(gated.control, "limit", "mail", concurrency=2)
    assert [gated.queue("mail").lease(600) is not None for _ in range(3)] == [True, True, False]
    face(gated.control, "limit", "mail", concurrency=None)

    assert [gated.queue("mail").lease(600) is not None for _ in range(3)] == [True, True, False]


def test_what_is_not_given_stays_as_it_is(gated, face):
    face(gated.control, "configure", "mail", QueueSettings(keep_failed=0, concurrency=3))

    given = face(gated.control, "limit", "mail", rate="10/s", ageing="5m", group_weights={"a": 2})

    expected = QueueSettings(
        keep_failed=0, concurrency=3, rate="10/s", ageing=300 * SECOND, group_weights={"a": 2}
    )
    assert given == expected
    assert face(gated, "queues", "mail")[0].settings == expected
    assert face(gated.control, "limit", "mail", ageing=None).ageing is None


def test_what_limits_leave_is_told_for_the_groups_named(gated, send, face):
    face(gated.control, "limit", "mail", concurrency=5, group_rate="10/min burst 3")
    face(send.using(group="acme"), "enqueue", "a")
    gated.queue("mail").lease(600)

    (info,) = face(gated, "queues", "mail", groups=("acme",))

    assert [(gate.group, gate.running, gate.room) for gate in info.gates] == [
        (None, 1, None),
        ("acme", 1, 2),
    ]
    assert face(gated, "queues", "mail")[0].gates == ()


@pytest.mark.parametrize("wrong", [{"rate": "often"}, {"concurrency": 0}, {"ageing": "soon"}])
def test_senseless_limits_are_refused(gated, face, wrong):
    with pytest.raises(BadInput):
        face(gated.control, "limit", "mail", **wrong)
    assert face(gated, "queues") == ()


# -- jobs ------------------------------------------------------------------------------------------


def test_jobs_are_cancelled_by_id_and_by_condition(app, send, face):
    jobs = face(send, "map", [(f"{n}",) for n in range(4)])
    lease = app.queue("mail").lease(60)

    assert face(app.control, "cancel", jobs[3].id, "nobody", reason="not needed") == 1
    assert face(app.control, "cancel", queue="mail") == 3

    assert app.get(jobs[3].id).reason == "not needed"
    assert face(app.control, "cancel", queue="mail") == 0
    assert lease.renew()
    assert lease.cancelled


def test_a_call_covers_more_jobs_than_one_step_may(app, send, face):
    face(app, "load", (send.bind(f"{n}") for n in range(2_500)))

    assert face(app.control, "edit", queue="mail", priority=7) == 2_500
    assert app.queue("mail").lease(10).job.priority == 7
    assert face(app.control, "cancel", queue="mail", state="waiting") == 2_499
    assert face(app.control, "redrive", queue="mail", state="cancelled") == 2_499
    assert face(app.control, "purge", task="send", state=["waiting", "failed"]) == 2_499
    assert app.queue("mail").counts() == {State.RUNNING: 1}


def test_jobs_that_failed_are_driven_again_with_fresh_counts(app, send, face):
    job = face(send, "enqueue", "a")
    app.queue("mail").lease(10).fail("no")

    assert face(app.control, "redrive", job.id, author="ann") == 1

    record = app.get(job.id)
    assert (record.state, record.failures, record.error) == (State.WAITING, 0, None)


def test_a_job_is_run_now_moved_and_given_another_priority(app, send, face, clock):
    job = face(send.using(delay="1h"), "enqueue", "a")

    assert face(app.control, "edit", job.id, delay=0, to="other", priority=-2) == 1

    record = app.get(job.id)
    assert (record.queue, record.priority, record.state) == ("other", -2, State.WAITING)
    assert face(app.control, "edit", job.id, delay="5m") == 1
    assert app.get(job.id).due_at == clock.now + 300 * SECOND


def test_running_and_ended_jobs_are_not_edited(app, send, face):
    face(send, "map", [("a",), ("b",)])
    lease = app.queue("mail").lease(10)
    app.queue("mail").lease(10).complete()

    assert face(app.control, "edit", queue="mail", priority=5) == 0
    assert face(app.control, "edit", lease.id, priority=5) == 0


@pytest.mark.parametrize("name", ["cancel", "redrive", "purge", "edit"])
def test_a_call_that_names_no_jobs_does_not_mean_all(app, send, face, name):
    face(send, "enqueue", "a")

    with pytest.raises(BadInput, match="say which jobs"):
        face(app.control, name)
    with pytest.raises(BadInput, match="cannot be chosen by quue"):
        face(app.control, name, quue="mail")
    with pytest.raises(BadInput, match="'waitin' is not a state"):
        face(app.control, name, state="waitin")

    assert len(app.queue("mail")) == 1


def test_what_people_did_is_recorded(app, send, face):
    face(send, "enqueue", "a")
    face(app.control, "pause", "mail", reason="lunch", author="ann")
    face(app.control, "resume", "mail", author="bob")
    face(app.control, "purge", queue="mail", author="eve")

    events = face(app, "events")

    assert [(event.kind, event.author) for event in events] == [
        ("pause", "ann"),
        ("resume", "bob"),
        ("purge", "eve"),
    ]
    assert face(app, "events", after=events[1].seq, limit=5) == events[2:]


# -- workers ---------------------------------------------------------------------------------------


def test_workers_are_seen_and_given_orders(app, face):
    worker = WorkerInfo(id="w1", host="h", pid=1, version="0", queues=("mail",), slots=1)
    beat = Beat(worker=worker, ttl=60 * SECOND)
    app.driver.run(app.driver.housekeeping.beat(beat))

    assert [each.id for each in face(app, "workers")] == ["w1"]
    assert face(app.control, "order", "quiet", "w1", "w2", author="ann") == 1
    assert app.driver.run(app.driver.housekeeping.beat(beat)).command is Command.QUIET


@pytest.mark.parametrize("verb", ["block", "unblock"])
def test_only_who_says_to_be_an_operator_blocks_and_unblocks(app, face, verb):
    face(app.control, "block", "mail", operator=True)

    with pytest.raises(NotAllowed):
        face(app.control, verb, "mail")

    (info,) = face(app, "queues")
    assert [rule.kind for rule in info.rules] == [RuleKind.BLOCK]


def test_the_author_is_the_user_of_this_process_unless_one_is_given(app, face):
    face(app.control, "pause", "mail")
    face(app.control, "limit", "mail", concurrency=1)
    face(app.control, "resume", "mail", author="ann")

    me = f"{getpass.getuser()}@{socket.gethostname()}"
    assert [event.author for event in face(app, "events")] == [me, me, "ann"]
