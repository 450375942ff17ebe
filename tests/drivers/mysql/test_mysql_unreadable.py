"""Jobs that cannot be read, on MariaDB."""

import json

import pytest
from private_mysql import shared_server

from oxmill import App
from unreadable_cases import UnreadableCases


@pytest.fixture
def app():
    with App(shared_server().emptied(), mode="volatile") as made:
        yield made


@pytest.fixture
def damage(app):
    database = app.url.rpartition("/")[2]

    def spoil(job_id, shape):
        change = f"UPDATE oxmill_jobs SET extras = '{json.dumps(shape)}' WHERE id = '{job_id}'"
        shared_server().ask(change, database)

    return spoil


class TestUnreadable(UnreadableCases):
    pass
