"""What people do to queues and jobs."""

from datetime import UTC, datetime, timedelta

import pytest

from oxmill import BadInput, QueueSettings, State
from oxmill.model.info import Beat, Command, WorkerInfo
from oxmill.model.rule import RuleKind

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
    face(app.control, "block", "mail", "incident", "op")

    assert not face(app.control, "resume", "mail")
    assert app.queue("mail").lease(10) is None
    assert face(app.control, "unblock", "mail")
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
    face(app.control, "block", "mail", expires=end)

    (rule,) = face(app, "queues", "mail")[0].rules

    assert rule.expires_at == clock.now + 60 * SECOND


def test_settings_are_replaced(app, send, face):
    face(app.control, "configure", "mail", QueueSettings(keep_succeeded=0), author="ann")
    job = face(send, "enqueue", "a")
    app.queue("mail").lease(10).complete()

    assert list(app.jobs(queue="mail")) == []
    assert face(app, "queues", "mail")[0].settings.keep_succeeded == 0
    assert job.created


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
