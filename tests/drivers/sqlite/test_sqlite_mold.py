"""Single plain jobs in transactions of their own: what goes wrong there goes as wrong as elsewhere."""

import sqlite3

import pytest

from oxmill.drivers.sqlite import committer
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.drivers.sqlite.mold import Cast, Mold
from oxmill.errors import OutcomeUnknown, StoreUnavailable
from oxmill.model.job import NewJob, Verdict

PLAIN = NewJob(id="", queue="q", task="t", payload=b"")
NUMBERS = "SELECT (SELECT n FROM counters WHERE queue = ''), max(seq), count(*) FROM jobs"


def put(store, job_id, payload=b"{}"):
    plan = store.driver.enqueueing.prepare(PLAIN).enqueue(job_id, payload)
    assert type(plan.start) is Cast
    return store.driver.run(plan)[0]


def numbers(store):
    return store.writer.committer.session.connection.execute(NUMBERS).fetchone()


class Spoiled:
    """A cursor that fails once, at a statement that begins like this, before or after it is run."""

    def __init__(self, cursor, text, error, *, after=False):
        self._cursor, self._text, self._error, self._after = cursor, text, error, after

    def execute(self, text, *more):
        return self._run(self._cursor.execute, text, *more)

    def executemany(self, text, *more):
        return self._run(self._cursor.executemany, text, *more)

    def _run(self, run, text, *more):
        if self._error is None or self._text not in text:
            return run(text, *more)
        error, self._error = self._error, None
        if self._after:
            run(text, *more)
        raise error


def spoil(store, text, error, *, after=False):
    session = store.writer.committer.session
    session._cursor = Spoiled(session._cursor, text, error, after=after)


@pytest.mark.parametrize(
    "unusual", [{"delay": 1}, {"group": "g"}, {"tags": ("t",)}, {"timeout": 9}]
)
def test_a_kind_with_something_unusual_about_it_has_no_mold(store, unusual):
    like = NewJob(id="", queue="q", task="t", payload=b"", **unusual)

    assert not isinstance(store.driver.enqueueing.prepare(like), Mold)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("text", ["BEGIN", "INSERT INTO jobs", "INSERT INTO counters"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_who_is_cut_off_before_the_commit_has_written_nothing(store, text, error, after):
    put(store, "first")
    spoil(store, text, error(), after=after)

    with pytest.raises(error):
        put(store, "a")

    assert put(store, "b").verdict is Verdict.CREATED
    assert numbers(store) == (2, 2, 2)
    assert store.counts() == {"waiting": 2}
    assert [job.id for job in store.claim(9)] == ["first", "b"]


def test_who_is_cut_off_after_the_commit_has_stored_the_job(store):
    put(store, "first")
    spoil(store, "COMMIT", KeyboardInterrupt(), after=True)

    with pytest.raises(KeyboardInterrupt):
        put(store, "a")

    assert put(store, "a").verdict is Verdict.DUPLICATE
    assert numbers(store)[1:] == (2, 2)


def test_a_disk_that_fails_during_the_commit_leaves_the_outcome_unknown(store):
    put(store, "first")
    failure = sqlite3.OperationalError("disk I/O error")
    failure.sqlite_errorcode = sqlite3.SQLITE_IOERR
    spoil(store, "COMMIT", failure)

    with pytest.raises(OutcomeUnknown):
        put(store, "a")

    assert put(store, "a").verdict is Verdict.CREATED
    assert numbers(store) == (2, 2, 2)


def test_numbers_that_others_have_drawn_are_not_drawn_again(store):
    put(store, "a")
    other = open_sqlite(store.path)
    other.run(other.enqueueing.prepare(PLAIN).enqueue("b", b"{}"))
    other.close()
    put(store, "c")
    put(store, "d")

    assert numbers(store) == (4, 4, 4)
    assert [job.id for job in store.claim(9)] == ["a", "b", "c", "d"]


def test_a_file_that_is_locked_for_a_while_is_waited_for_once_more(store, monkeypatch):
    put(store, "first")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.writer.committer.session.connection.execute("PRAGMA busy_timeout = 1")
    monkeypatch.setattr(committer.time, "sleep", lambda _: other.execute("ROLLBACK"))

    assert put(store, "a").verdict is Verdict.CREATED
    other.close()


def test_a_file_that_stays_locked_is_unavailable(store):
    put(store, "first")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.writer.committer.session.connection.execute("PRAGMA busy_timeout = 1")

    with pytest.raises(StoreUnavailable, match="locked"):
        put(store, "a")

    other.execute("ROLLBACK")
    other.close()
    assert put(store, "a").verdict is Verdict.CREATED
    assert numbers(store) == (2, 2, 2)


def test_a_closed_store_says_so(store):
    put(store, "first")
    store.driver.close()

    with pytest.raises(StoreUnavailable, match="was closed"):
        put(store, "a")
