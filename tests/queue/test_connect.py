"""Which store a URL means."""

import traceback

import pytest

from oxmill import App
from oxmill.connect import connect, sqlite_path, store_url
from oxmill.drivers.mysql.address import parse as mysql_parse
from oxmill.drivers.postgres.address import parse as postgres_parse
from oxmill.drivers.redis.address import parse as redis_parse
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
        ("postgresql://u:secret@h:abc/db", "the port in"),
        ("postgresql://u:secret@h:65536/db", "the port in"),
        ("postgresql://u:secret@h:1,i:x/db", "the port in"),
        ("postgresql://u:secret@h/db?connect_timeout=soon", "the connect_timeout in"),
        ("mysql://u:secret@h/", "name one database"),
        ("mysql://u:secret@h/db?pool=inf", "pool=inf"),
        ("mysql://u:secret@h/db?timeout=nan", "timeout=nan"),
        ("mysql://u:secret@h/db?ssl_ca=/nope", "No such file"),
        ("mysql://u:secret@h/db?tls=1&ssl_cert=/dev/null", "PEM"),
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


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:hunter2@h/0?timeout=abc",
        "redis://u:hunter2@h:port/0",
        "redis://u:hunter2@h/0?nonsense=1",
        "redis://u:hunter2@h/0?shards=many",
        "redis://u:hunter2@h/0?sentinel_password=hunter2",
        "redis://u:hunter2/x@h/0",
        "redis://u:hunter2#x@h/0",
        "redis://u:[hunter2@h/0",
        "redis://u:hunter2\u2100@h/0",
        "postgresql://u:hunter2%zz@h/db",
        "postgresql://u:hunter2/x@h/db",
        "postgresql://u:hunter2@h/db?pool=0&sslpassword=hunter2",
        "postgresql://u:hunter2@[h/db",
        "postgresql://u@h/db?password=hunter2&nonsense=1",
        "mysql://u:hunter2@h/db?pool=none",
        "mysql://u:hunter2@h:port/db",
        "mysql://u:hunter2/x@h/db",
        "mysql://u:hunter2@h/db?nonsense=1",
        "u:hunter2@h/db",
        "nonsense://u:hunter2@h/db",
    ],
)
def test_a_refusal_never_shows_a_secret(url):
    with pytest.raises(BadConfig) as refused:
        connect(url)

    assert "hunter2" not in "".join(traceback.format_exception_only(refused.value))
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:hunter2@h/0?namespace=n",
        "rediss://h/0?ssl_keyfile_password=hunter2",
        "redis+sentinel://u:hunter2@h/mill?sentinel_username=s&sentinel_password=hunter2",
        "postgresql://u:hunter2@h/db?sslpassword=hunter2&schema=s",
        "postgresql://u@h/db?password=hunter2&listen=postgresql://u:hunter2@h/db",
        "mysql://u:hunter2@h/db?pool=3",
    ],
)
def test_an_open_store_never_shows_a_secret(url):
    driver = connect(url)

    assert "hunter2" not in driver.url
    assert "hunter2" not in repr(driver)
    assert "hunter2" not in repr(App(url))
    driver.close()


@pytest.mark.parametrize(
    ("parse", "url"),
    [
        (redis_parse, "redis+sentinel://u:hunter2@h/m?sentinel_password=hunter2"),
        (postgres_parse, "postgresql://u:hunter2@h/db?sslpassword=hunter2"),
        (mysql_parse, "mysql://u:hunter2@h/db"),
    ],
)
def test_an_address_never_shows_a_secret(parse, url):
    assert "hunter2" not in repr(parse(url))
