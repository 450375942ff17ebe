"""Jobs that cannot be read, on SQLite."""

import json
import sqlite3
from contextlib import closing

import pytest

from oxmill import App
from oxmill.drivers.sql.rows import extras_in
from unreadable_cases import UnreadableCases


@pytest.fixture
def app(tmp_path):
    with App(f"sqlite:///{tmp_path}/jobs.db") as made:
        yield made


@pytest.fixture
def damage(tmp_path):
    def spoil(job_id, shape):
        with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection, connection:
            connection.execute(
                "UPDATE jobs SET extras = ? WHERE id = ?", [json.dumps(shape), job_id]
            )

    return spoil


@pytest.mark.parametrize("text", ['{"headers":{"h":', "[]", "7", "", '{"headers":{"h":"\ud800"}}'])
def test_what_is_not_even_json_is_told_as_a_fault(text):
    extras = extras_in(text)

    assert extras.fault
    assert (extras.headers, extras.flow) == ({}, None)


def test_what_can_be_read_beside_the_damage_is_kept():
    extras = extras_in('{"fields":{"u":1.5},"flow":"f","within":7,"until":"started","new":[1]}')

    assert "float" in extras.fault
    assert (extras.flow, extras.within, extras.until) == ("f", 7, "started")


class TestUnreadable(UnreadableCases):
    pass
