"""Declaring tasks."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from oxmill import (
    App,
    AsyncTask,
    BadConfig,
    BadInput,
    Context,
    Retry,
    Task,
    TaskNotFound,
    Unique,
    WrongContext,
)


@pytest.fixture
def app():
    return App("memory://")


# -- declaring -------------------------------------------------------------------------------------


def test_a_bare_decorator_declares_a_task_that_can_still_be_called(app):
    @app.task
    def add(a: int, b: int = 1) -> int:
        """Adds."""
        return a + b

    assert isinstance(add, Task)
    assert add(1, b=2) == 3
    assert add.__name__ == "add"
    assert add.__doc__ == "Adds."
    assert not add.is_async


def test_a_coroutine_function_becomes_an_async_task(app):
    @app.task(queue="web")
    async def fetch(url: str) -> str:
        return url

    assert isinstance(fetch, AsyncTask)
    assert fetch.is_async
    assert fetch.options.queue == "web"
    assert asyncio.run(fetch("u")) == "u"


def test_the_name_is_module_and_qualname_unless_given(app):
    @app.task
    def one() -> None: ...

    @app.task(name="mail.two", aliases=["mail.old"])
    def two() -> None: ...

    here = f"{__name__}:test_the_name_is_module_and_qualname_unless_given.<locals>.one"
    assert one.name == here
    assert app.registry.find(here) is one
    assert app.registry.find("mail.two") is two
    assert app.registry.find("mail.old") is two
    assert app.registry.find("other") is None
    assert app.registry.names() == tuple(sorted([here, "mail.two"]))


def test_a_file_that_is_run_gives_the_name_that_a_worker_will_know(tmp_path):
    text = (
        "from oxmill import App\napp = App('memory://')\n@app.task\ndef f() -> None: ...\n"
        "if __name__ == '__main__': print(f.name)\n"
    )
    (tmp_path / "jobs.py").write_text(text)
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "tasks.py").write_text(text)

    def run(*args):
        done = subprocess.run(
            [sys.executable, *args], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert run("jobs.py") == "jobs:f"
    assert run("-m", "jobs") == "jobs:f"
    assert run("shop/tasks.py") == "shop.tasks:f"
    assert run("-m", "shop.tasks") == "shop.tasks:f"


def test_two_functions_of_one_name_are_refused(app):
    @app.task(name="x")
    def one() -> None: ...

    with pytest.raises(BadConfig, match="two tasks are named 'x'"):

        @app.task(name="x")
        def two() -> None: ...

    with pytest.raises(BadConfig, match="two tasks are named 'x'"):

        @app.task(aliases=["x"])
        def three() -> None: ...


def test_the_same_function_declared_again_takes_its_own_place(app):
    def declare(n):
        @app.task
        def work() -> int:
            return n

        return work

    declare(1)
    newest = declare(2)

    assert app.registry.find(newest.name) is newest
    assert len(app.registry) == 1


def test_an_unknown_task_is_told_with_the_closest_names(app):
    @app.task(name="mail:send")
    def send() -> None: ...

    with pytest.raises(TaskNotFound, match="mail:send"):
        app.registry.get("mail:sned")


def test_the_registry_knows_the_queues(app):
    @app.task(queue="mail")
    def send() -> None: ...

    assert app.registry.queues() == ("default", "mail")
    assert list(app.registry) == [send]


def test_generators_cannot_be_tasks(app):
    with pytest.raises(BadConfig, match="generator"):

        @app.task
        def work():
            yield 1


def test_a_task_that_takes_a_context_can_be_called_below_a_run_only(app):
    @app.task(takes_context=True)
    def work(context: Context, n: int) -> int:
        return n

    assert work.takes_context
    assert work.decode_arguments(work.bind(3).template.payload) == ((), {"n": 3})
    with pytest.raises(WrongContext, match="no job is running"):
        work(3)


# -- options ---------------------------------------------------------------------------------------


def test_the_nearest_option_counts():
    app = App("memory://", defaults={"queue": "app", "priority": 1, "tags": ["a"]})

    @app.task(priority=2, timeout="30s")
    def work() -> None: ...

    job = work.using(tags=["b", "c"]).bind().template

    assert (job.queue, job.priority, job.tags) == ("app", 2, ("b", "c"))
    assert job.timeout == 30_000_000
    assert work.bind().template.tags == ("a",)


def test_every_option_reaches_the_job(app):
    @app.task
    def work() -> None: ...

    when = datetime(2030, 1, 1, tzinfo=UTC)
    job = (
        work.using(
            queue="q",
            priority=-5,
            run_at=when,
            expires="1h",
            retry=3,
            timeout=1.5,
            unique="key",
            group="acme",
            fields={"user": 7},
            tags=("t",),
            headers={"trace": "x"},
            keep="2d",
            crash_limit=1,
            id="mine",
        )
        .bind()
        .template
    )

    assert job.id == "mine"
    assert (job.queue, job.priority, job.run_at) == ("q", -5, 1_893_456_000_000_000)
    assert (job.expires_in, job.max_attempts, job.timeout) == (3_600_000_000, 3, 1_500_000)
    assert job.unique.key == "key"
    assert (job.group, job.fields, job.tags) == ("acme", {"user": 7}, ("t",))
    assert (job.headers, job.keep, job.crash_limit) == ({"trace": "x"}, 172_800_000_000, 1)
    assert work.using(delay=timedelta(minutes=5)).bind().template.delay == 300_000_000


def test_a_delay_takes_the_place_of_an_earlier_time(app):
    @app.task
    def work() -> None: ...

    timed = work.using(run_at=datetime(2030, 1, 1, tzinfo=UTC))

    assert timed.using(delay="5s").bind().template.run_at is None


@pytest.mark.parametrize(("given", "attempts"), [(3, 3), (None, 1), (Retry(), 20), (Retry(7), 7)])
def test_retry_is_a_policy_a_number_of_attempts_or_none(app, given, attempts):
    @app.task(retry=given)
    def work() -> None: ...

    assert work.bind().template.max_attempts == attempts
    assert isinstance(work.options.retry, Retry)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delya": 3}, "no option 'delya'"),
        ({"delay": "soon"}, "not a length of time"),
        ({"delay": -1}, "negative"),
        ({"run_at": datetime(2030, 1, 1)}, "no time zone"),  # noqa: DTZ001
        ({"retry": 0}, "allows no run at all"),
        ({"retry": True}, "not a number of attempts"),
        ({"retry": "5"}, "not a policy"),
        ({"retry": Retry(2.5)}, "not a whole number of attempts"),
        ({"retry": Retry(base="soon")}, "not a length of time"),
        ({"retry": Retry(cap=-4)}, "negative"),
        ({"retry": Retry(backoff="quadratic")}, "use one of exponential"),
        ({"retry": Retry(backoff=[1, "soon"])}, "not a length of time"),
        ({"retry": Retry(backoff=5)}, "Retry: "),
        ({"retry": Retry(give_up_on=[ValueError])}, "a tuple of exception classes"),
        ({"retry": Retry(on=("ValueError",))}, "a tuple of exception classes"),
        ({"delay": None}, "not a length of time"),
        ({"run_at": "2030-01-01"}, "not a moment"),
        ({"fields": None}, "not a mapping"),
        ({"fields": {1: "a"}}, "not text"),
        ({"tags": "abc"}, "is one text"),
        ({"tags": [1]}, "not text"),
        ({"tags": 1}, "not a list of texts"),
        ({"headers": {"a": 1}}, "not text"),
        ({"id": ""}, "the id is empty"),
        ({"priority": "high"}, "not a whole number"),
        ({"queue": 5}, "not text"),
        ({"pool": "fibre"}, "not one of auto, thread, process"),
    ],
)
def test_a_wrong_option_is_refused_where_it_is_written(app, options, words):
    @app.task
    def work() -> None: ...

    with pytest.raises(BadInput, match=words):
        work.using(**options)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda app: App("memory://", middlewares=[]), "no option 'middlewares'"),
        (lambda app: App("memory://", mode="safe"), "use one of durable, process, volatile"),
        (lambda app: app.task(5), "not a function"),
        (lambda app: app.step(5), "not a function"),
        (lambda app: app.enqueue_many([str]), "not a call"),
        (lambda app: app.queue("q").add_many(["text"]), "an item is bytes"),
    ],
)
def test_what_cannot_be_meant_is_refused_where_it_is_written(app, make, words):
    with pytest.raises(BadInput, match=words):
        make(app)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Unique(until="never"), "use one of started, finished"),
        (lambda: Unique(on_conflict="explode"), "use one of skip"),
        (lambda: Unique("k", fields=["a"]), "not both"),
        (lambda: Unique(within="soon"), "not a length of time"),
    ],
)
def test_a_wrong_unique_is_refused_where_it_is_written(make, words):
    with pytest.raises(BadInput, match=words):
        make()
