"""Workers started from code."""

import subprocess
import sys
import threading
from contextlib import asynccontextmanager

import pytest

from oxmill import App, BadConfig, JobFailed
from oxmill.observe.events import WorkerStopping
from oxmill.queue.naming import place_of

here = App("memory://")


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_worker_in_this_process_works_while_the_block_runs(store, tmp_path):
    app = App("memory://" if store == "memory" else f"sqlite:///{tmp_path}/jobs.db")
    done = []

    @app.task(retry=None)
    def work(n: int) -> int:
        done.append(n)
        return 10 // n

    with app:
        with app.running(slots=2) as worker:
            assert work.enqueue(5).result("20s") == 2
            with pytest.raises(JobFailed, match="ZeroDivisionError"):
                work.enqueue(0).result("20s")
            assert [each.id for each in app.workers()] == [worker.id]
            last = work.enqueue(2)
            last.result("20s")

        late = work.enqueue(1)
        assert late.refresh().state == "waiting"
        assert done == [5, 0, 2]


async def test_a_job_is_awaited_beside_a_worker_in_a_thread(tmp_path):
    app = App(f"sqlite:///{tmp_path}/jobs.db")

    @app.task
    async def work(n: int) -> int:
        return n + 1

    async with app:
        with app.running():
            jobs = await app.aenqueue_many(work.bind(n) for n in range(20))
            assert [await job for job in jobs] == list(range(1, 21))


def test_the_block_drains_before_it_is_left():
    app = App("memory://")
    started, leaving, done = threading.Event(), threading.Event(), []

    @app.task
    def slow() -> None:
        started.set()
        done.append(leaving.wait(20))

    with app.running() as worker:
        worker.bus.subscribe(lambda _: leaving.set(), WorkerStopping)
        slow.enqueue()
        assert started.wait(20)
        assert done == []

    assert done == [True]


def test_a_worker_that_cannot_start_is_told_in_the_block():
    @asynccontextmanager
    async def lifespan():
        raise OSError("no database")
        yield

    app = App("memory://", lifespan=lifespan)

    with pytest.raises(OSError, match="no database"), app.running():
        pass


def test_a_wrong_option_is_refused_before_anything_starts():
    with pytest.raises(BadConfig, match="slots"):
        App("memory://").worker(slots=0)


def test_a_worker_knows_the_tasks_schedules_and_queues():
    app = App("memory://")

    @app.task(queue="mail")
    def send() -> None: ...

    app.every("1h", send.bind())

    assert set(app.worker().queues) == {"default", "mail"}
    assert app.worker(queues=["mail"]).queues == ("mail",)


def test_an_app_is_found_where_another_process_can_import_it():
    assert place_of(here) == f"{__name__}:here"
    assert place_of(App("memory://")) is None


def test_a_script_runs_its_own_jobs_also_in_child_processes(tmp_path):
    (tmp_path / "script.py").write_text(
        "import os\n"
        "from oxmill import App\n"
        "app = App('sqlite:///jobs.db')\n"
        "@app.task(pool='process')\n"
        "def where() -> int:\n    return os.getpid()\n"
        "if __name__ == '__main__':\n"
        "    with app.running():\n"
        "        print(where.enqueue().result('60s') != os.getpid())\n"
    )

    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert (done.stdout.strip(), done.returncode) == ("True", 0), done.stderr
