"""Rows are bound without what `sqlite3` binds slowly, and stored as they were given."""

from itertools import product

import pytest

from oxmill.drivers.sql.arriving import arrival, step_row
from oxmill.drivers.sqlite.binding import bindable, plain_insert
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.drivers.sqlite.statements import positional_text, several_text
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Get
from oxmill.testing.operations import plan_for

NOW = 1_000_000


def job(number=0, **options):
    return NewJob(id=f"j{number}", queue="q", task="t", payload=b"\x00\xff{}", **options)


def slow(rows):
    return [value for row in rows for value in row if value is None or type(value) is bytes]


def test_usual_jobs_and_steps_hold_nothing_that_is_bound_slowly():
    usual = [arrival(job(n, keep=0), n, NOW)[0] for n in range(3)]
    steps = [step_row(job(n, reads=("x",)), "f", n, NOW) for n in range(3)]
    fields = [("f", "x", b"1"), ("f", "y", b"2")]

    for name, rows in (("insert_job", usual), ("insert_job", steps), ("put_state", fields)):
        without, bound = bindable(name, rows)
        assert slow(bound) == []
        assert positional_text(name, without).count("?") == len(bound[0])
        assert several_text(name, without).count("?") == 16 * len(bound[0])
    for alone in (job(), job(keep=0)):
        text, values = plain_insert(alone, 1, NOW)
        assert slow([values]) == []
        assert text.count("?") == len(values)


OPTIONS = {
    "expires_in": 5_000_000,
    "group": "g",
    "headers": {"a": "b"},
    "keep": 0,
}


@pytest.mark.parametrize("given", list(product((False, True), repeat=len(OPTIONS))))
def test_a_job_is_stored_with_what_it_has_and_nothing_else(tmp_path, given):
    chosen = dict(zip(OPTIONS, given, strict=True))
    options = {name: OPTIONS[name] for name, there in chosen.items() if there}
    driver = open_sqlite(tmp_path / "store.db", mode="volatile", clock=lambda: NOW)

    # Alone, and in a batch with others that have other columns.
    driver.run(plan_for(driver, Enqueue(jobs=(job(0, **options),))))
    batch = tuple(job(n, **(options if n % 2 else {})) for n in range(1, 41))
    driver.run(plan_for(driver, Enqueue(jobs=batch)))

    found = driver.run(plan_for(driver, Get(ids=tuple(f"j{n}" for n in range(41)))))
    stored = driver.transport._writer.committer.session.connection.execute(
        "SELECT keep, unique_key, reason FROM jobs ORDER BY seq"
    ).fetchall()
    for number, each in enumerate(found):
        has = options if number == 0 or number % 2 else {}
        expires = NOW + has["expires_in"] if "expires_in" in has else None
        assert each.payload == b"\x00\xff{}"
        assert (each.group, each.expires_at) == (has.get("group"), expires)
        assert dict(each.headers) == has.get("headers", {})
        assert stored[number] == (has.get("keep"), None, None)
    driver.close()


def test_no_rows_stay_no_rows():
    assert bindable("insert_job", []) == ((), [])
