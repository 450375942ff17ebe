"""Jobs that cannot be read, on PostgreSQL."""

import json

import pytest
from private_postgres import clean_url, shared_server

from oxmill import App
from unreadable_cases import UnreadableCases


@pytest.fixture
def app():
    with App(clean_url(), mode="volatile") as made:
        yield made


@pytest.fixture
def damage(app):
    schema = app.url.partition("schema=")[2]

    def spoil(job_id, shape):
        change = f"UPDATE {schema}.jobs SET extras = %s WHERE id = %s"
        shared_server().ask(change, json.dumps(shape), job_id)

    return spoil


class TestUnreadable(UnreadableCases):
    pass
