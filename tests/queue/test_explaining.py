"""Every gate of a store, as `app.explain` tells it."""

import pytest

from oxmill import App, JobNotFound, RateLimited
from oxmill.store.capabilities import Capability

SECOND = 1_000_000


@pytest.fixture
def send(app):
    if Capability.LIMITS | Capability.SCOPED_RULES not in app.driver.capabilities:
        pytest.skip(f"{app.driver.name} does not declare them")

    @app.task(name="send", queue="mail")
    def send(to: str) -> None: ...

    return send.using(group="acme", fields={"user_id": 62})


@pytest.fixture
def why(app, send, face):
    """The names of the closed gates of a new job, apart from the worker's, and when it can run."""

    def ask(**options):
        job = face(send.using(**options), "enqueue", "a")
        told = face(app, "explain", job.id)
        return [gate.name for gate in told.closed if gate.name != "worker"], told

    return ask


def test_nothing_but_a_worker_is_missing(why):
    names, told = why()

    assert names == []
    assert [gate.name for gate in told.closed] == ["worker"]


def test_a_job_that_is_not_due(why, clock):
    names, told = why(delay="5m")

    assert names == ["due time"]
    assert told.closed[0].opens_at == clock.now + 300 * SECOND


@pytest.mark.parametrize(
    "on",
    [{"queue": "mail"}, {"task": "send"}, {"group": "acme"}, {"field": {"user_id": 62}}],
    ids=str,
)
def test_rules(app, face, why, clock, on):
    face(app.control, "pause", reason="deploy", expires="5m", **on)
    face(app.control, "block", operator=True, **on)

    names, told = why()

    assert sorted(names) == ["block", "pause"]
    assert {gate.opens_at for gate in told.closed if gate.name == "pause"} == {
        clock.now + 300 * SECOND
    }


@pytest.mark.parametrize(
    "on",
    [{"queue": "mail"}, {"task": "send"}, {"group": "acme"}, {"field": {"user_id": 62}}],
    ids=str,
)
def test_throttles(app, face, why, clock, on):
    face(app.control, "throttle", rate="1/min", **on)
    assert why()[0] == []
    assert app.queue("mail").lease(600) is not None

    names, told = why()

    assert names == ["throttle"]
    assert told.closed[0].opens_at == clock.now + 60 * SECOND


@pytest.mark.parametrize(
    ("limits", "gate"),
    [
        ({"concurrency": 1}, "queue concurrency"),
        ({"group_concurrency": 1}, "group concurrency"),
        ({"ordered_groups": True}, "group concurrency"),
        ({"rate": "1/min"}, "queue rate"),
        ({"group_rate": "1/min"}, "group rate"),
    ],
    ids=str,
)
def test_limits(app, face, why, limits, gate):
    face(app.control, "limit", "mail", **limits)
    assert why()[0] == []
    lease = app.queue("mail").lease(600)

    names, told = why()

    assert names == [gate]
    assert ("concurrency" not in gate) or lease.id in told.closed[0].detail


@pytest.mark.parametrize("scope", ["group", "queue"])
def test_rate_limited(app, why, clock, scope):
    why()
    with app.queue("mail").lease(600):
        raise RateLimited("90s", scope=scope)

    names, told = why()

    assert names == [f"{scope} rate"]
    assert "somebody asked to wait" in told.summary
    assert told.closed[0].opens_at == clock.now + 90 * SECOND


def test_all_other_states(app, send, face):
    job = face(send, "enqueue", "a")
    lease = app.queue("mail").lease(600)
    assert face(app, "explain", job.id).summary.startswith("running")
    lease.complete()
    assert face(app, "explain", job.id).summary.startswith("succeeded")
    other = face(send, "enqueue", "b")
    face(app.control, "cancel", other.id, reason="why")
    assert face(app, "explain", other.id).summary == "cancelled: why"


def test_a_job_that_is_not_there(app, face):
    with pytest.raises(JobNotFound):
        face(app, "explain", "none-such")


def test_it_can_be_asked_without_a_worker_or_a_declared_task():
    with App("memory://") as app:
        app.queue("q").add(b"x")
        (job,) = app.jobs()

        assert "every gate is open" in app.explain(job.id).summary
