"""How an app opens, keeps and closes its store."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oxmill import App, WrongContext
from oxmill.connect import connect
from oxmill.queue.client import Client
from oxmill.queue.ids import IdSource


class Opener:
    """Opens memory stores and counts them."""

    def __init__(self):
        self.opened = []

    def __call__(self):
        self.opened.append(connect("memory://"))
        return self.opened[-1]


def test_the_store_is_opened_at_the_first_use_and_once():
    opener = Opener()
    client = Client(opener, IdSource())
    assert opener.opened == []

    assert client.driver is client.driver

    assert len(opener.opened) == 1


def test_declaring_touches_no_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = App()

    @app.task
    def send(to: str) -> None: ...

    app.cron("0 3 * * *", send.bind("ops"))

    assert list(tmp_path.iterdir()) == []


def test_closing_lets_go_and_the_next_use_opens_again():
    opener = Opener()
    client = Client(opener, IdSource())
    first = client.driver

    client.close()
    client.close()

    assert client.driver is not first


def test_a_forked_child_opens_a_store_of_its_own():
    client = Client(Opener(), IdSource())
    mine = client.driver

    pid = os.fork()
    if pid == 0:
        os._exit(0 if client.driver is not mine and client.driver is client.driver else 1)

    assert os.waitpid(pid, 0)[1] == 0
    assert client.driver is mine


def test_a_forked_child_does_not_close_its_parents_store():
    client = Client(Opener(), IdSource())
    closed = []
    object.__setattr__(client.driver.transport, "close", lambda: closed.append(1))

    pid = os.fork()
    if pid == 0:
        client.close()
        os._exit(len(closed))

    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_parent_and_forked_child_use_one_file_at_the_same_time(tmp_path):
    app = App(f"sqlite:///{tmp_path}/jobs.db")

    @app.task
    def work(n: int) -> None: ...

    with app:
        work.enqueue(0)
        pid = os.fork()
        if pid == 0:
            try:
                jobs = [work.enqueue(n) for n in range(20)]
                os._exit(0 if all(job.refresh().created for job in jobs) else 1)
            finally:
                os._exit(2)
        for n in range(20):
            work.enqueue(n)

        assert os.waitpid(pid, 0)[1] == 0
        assert len(app.queue("default")) == 41
        assert len({job.id for job in app.jobs()}) == 41


def test_two_apps_live_side_by_side():
    one, other = App("memory://"), App("memory://")

    one.queue("q").add(b"x")

    assert len(one.queue("q")) == 1
    assert len(other.queue("q")) == 0


def test_an_app_is_a_context_manager():
    with App("memory://") as app:
        driver = app.driver
        assert app.driver is driver
    assert app.driver is not driver


async def test_an_app_is_an_async_context_manager():
    async with App("memory://") as app:
        await app.queue("q").aadd(b"x")
        driver = app.driver
    assert app.driver is not driver


async def test_a_blocking_call_inside_a_running_loop_is_refused_with_its_async_form():
    app = App("memory://")

    @app.task
    def send(to: str) -> None: ...

    calls = {
        "aenqueue": lambda: send.enqueue("a"),
        "aenqueue_many": lambda: app.enqueue_many([send.bind("a")]),
        "aload": lambda: app.load([send.bind("a")]),
        "amap": lambda: send.map([("a",)]),
        "aget": lambda: app.get("x"),
        "ajobs": lambda: next(app.jobs()),
        "aqueues": app.queues,
        "aresult": app.job("x").result,
        "acancel": app.job("x").cancel,
        "apause": lambda: app.control.pause("q"),
        "aadd": lambda: app.queue("q").add(b""),
        "alease": lambda: app.queue("q").lease(1),
    }
    for form, call in calls.items():
        with pytest.raises(WrongContext, match=form):
            call()
    assert await app.aqueues() == ()


def test_a_blocking_call_is_allowed_in_a_thread_beside_a_loop():
    app = App("memory://")

    async def main():
        return await asyncio.to_thread(app.queue("q").add, b"x")

    assert asyncio.run(main())


def test_importing_the_package_loads_almost_nothing():
    code = "import sys, oxmill; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = set(done.stdout.split())

    assert not loaded & {"msgspec", "asyncio", "click", "cronsim", "sqlite3"}


def test_an_app_needs_no_asyncio_no_worker_and_no_other_driver():
    code = (
        "import sys; from oxmill import App; app = App('memory://'); app.task(lambda x: x);"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = set(done.stdout.split())

    unwanted = {"asyncio", "click", "cronsim", "sqlite3", "pydantic", "pytest"}
    assert not loaded & unwanted
    assert not [name for name in loaded if name.startswith(("oxmill.worker", "oxmill.drivers."))]


def test_every_public_name_is_there():
    import oxmill  # noqa: PLC0415

    for name in oxmill.__all__:
        assert getattr(oxmill, name) is not None
    assert set(oxmill.__all__) <= set(dir(oxmill))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = oxmill.nonsense


def test_the_list_of_public_names_is_the_same_for_people_and_for_type_checkers():
    import oxmill  # noqa: PLC0415

    text = Path(oxmill.__file__).read_text(encoding="utf-8")
    block = text.partition("if TYPE_CHECKING:")[2].partition("__all__")[0]
    named = {
        word.strip(" ,()\n")
        for line in block.replace("(", "\n").splitlines()
        for word in line.partition("import")[2 if "import" in line else 0].split(",")
    }
    assert set(oxmill.__all__) == {name for name in named if name and not name.startswith("from ")}
