"""Which store a URL means."""

import pytest

from oxmill import App
from oxmill.connect import connect, sqlite_path, store_url
from oxmill.errors import BadConfig


def test_the_argument_goes_before_the_environment_and_that_before_the_default(monkeypatch):
    assert store_url() == "sqlite:///oxmill.db"
    monkeypatch.setenv("OXMILL_URL", "sqlite:///env.db")
    assert store_url() == "sqlite:///env.db"
    assert store_url("memory://") == "memory://"
    assert App().url == "sqlite:///env.db"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///jobs.db", "jobs.db"),
        ("sqlite:///data/jobs.db", "data/jobs.db"),
        ("sqlite:////var/lib/jobs.db", "/var/lib/jobs.db"),
        ("sqlite:///C:/jobs.db", "C:/jobs.db"),
    ],
)
def test_a_sqlite_url_names_a_file(url, path):
    assert sqlite_path(url) == path


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///", "sqlite://host/x.db", "sqlite:///a?b=1"]
)
def test_a_sqlite_url_without_a_file_is_refused(url):
    with pytest.raises(BadConfig, match=r"sqlite:///jobs\.db"):
        connect(url)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://u:secret@h/db?schema=No", "lower-case"),
        ("postgresql://u:secret@h/db?timeout=never", "not a number"),
        ("mysql://u:secret@h/", "name one database"),
        ("mariadb://u:secret@h/db?pool=none", "not a number"),
        ("nonsense://h", "no store for the scheme 'nonsense'"),
        ("jobs.db", "has no scheme"),
    ],
)
def test_other_stores_are_refused_with_what_to_do(url, words):
    with pytest.raises(BadConfig, match=words) as refused:
        connect(url)
    assert "secret" not in str(refused.value)


def test_the_memory_store_opens():
    assert connect("memory://").name == "memory"


def test_a_sqlite_file_is_made_where_the_url_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with App("sqlite:///here.db") as app:
        assert app.driver.name == "sqlite"
        app.queue("q").add(b"x")

    assert (tmp_path / "here.db").exists()
