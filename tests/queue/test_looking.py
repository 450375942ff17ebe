"""Questions about jobs and queues."""

from datetime import UTC, datetime

import pytest

from oxmill import BadInput, JobNotFound, State


@pytest.fixture
def send(app):
    @app.task(name="send", queue="mail")
    def send(to: str) -> None: ...

    return send


def found(app, face, **where):
    """The ids of the jobs found, through either face."""
    if face.kind == "blocking":
        return [job.id for job in app.jobs(**where)]

    async def collect():
        return [job.id async for job in app.ajobs(**where)]

    return face._runner.run(collect())


def test_one_job_is_told_in_full(app, send, face):
    job = face(send, "enqueue", "a")
    app.queue("mail").lease(10).retry("1m", "no")

    record = face(app, "get", job.id)

    assert record.id == job.id
    assert record.history[0].error.message == "no"
    with pytest.raises(JobNotFound, match="nobody"):
        face(app, "get", "nobody")


def test_jobs_are_found_by_every_condition(app, send, face, clock):
    @app.task(name="other")
    def other() -> None: ...

    first = face(send.using(tags=["x", "y"], fields={"user": 7, "city": "Bern"}), "enqueue", "a").id
    clock.advance(10_000_000)
    second = face(send.using(group="acme", delay="1h", fields={"user": 8}), "enqueue", "b").id
    third = face(other, "enqueue").id
    middle = datetime.fromtimestamp((clock.now - 5_000_000) / 1e6, tz=UTC)

    assert found(app, face) == [third, second, first]
    assert found(app, face, queue="mail") == [second, first]
    assert found(app, face, queue=["default", "nothing"]) == [third]
    assert found(app, face, task="send", state="scheduled") == [second]
    assert found(app, face, state=[State.WAITING, "scheduled"], queue="mail") == [second, first]
    assert found(app, face, tag="y") == [first]
    assert found(app, face, fields={"user": 7}) == [first]
    assert found(app, face, fields={"user": 8, "city": "Bern"}) == []
    assert found(app, face, fields={"city": "Bern"}) == [first]
    assert found(app, face, group="acme") == [second]
    assert found(app, face, since=middle) == [third, second]
    assert found(app, face, before=middle) == [first]


def test_a_list_is_found_by_each_of_its_values(app, send, face):
    first = face(send.using(fields={"to": ["ann", "bob"], "n": (1, 2)}), "enqueue", "a").id
    second = face(send.using(fields={"to": "bob"}), "enqueue", "b").id

    assert found(app, face, fields={"to": "bob"}) == [second, first]
    assert found(app, face, fields={"to": "ann", "n": 2}) == [first]
    assert face(app, "get", first).fields == {"to": ("ann", "bob"), "n": (1, 2)}
    with pytest.raises(BadInput, match="one text or whole number"):
        found(app, face, fields={"to": ["ann"]})


def test_pages_are_walked_to_their_end(app, send, face):
    face(app, "load", (send.bind(f"{n}") for n in range(450)))

    ids = found(app, face, queue="mail")

    assert len(ids) == len(set(ids)) == 450


def test_a_page_is_fetched_only_when_it_is_needed(app, send):
    app.load(send.bind(f"{n}") for n in range(450))
    seen = app.jobs(queue="mail")

    newest = next(seen)
    app.control.purge(queue="mail")

    assert newest.payload == b'{"to":"449"}'
    assert len(list(seen)) < 300


def test_a_naive_time_is_refused(app, face):
    with pytest.raises(BadInput, match="no time zone"):
        found(app, face, since=datetime(2026, 1, 1))  # noqa: DTZ001


def test_queues_are_told_with_counts(app, send, face):
    face(send, "map", [("a",), ("b",)])
    app.queue("mail").lease(10)

    (info,) = face(app, "queues")

    assert info.name == "mail"
    assert info.counts == {State.WAITING: 1, State.RUNNING: 1}
    assert [each.name for each in face(app, "queues", "mail")] == ["mail"]
