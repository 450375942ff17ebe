"""`oxmill queues`, `oxmill workers`, `oxmill cron`, `oxmill status`, `oxmill doctor`."""

from oxmill.model.info import Beat, Command, WorkerInfo
from oxmill.model.job import NewJob
from oxmill.model.schedule import PutSchedules, Schedule
from oxmill.model.state import State

SECOND = 1_000_000

# -- queues ----------------------------------------------------------------------------------------


def test_queues_show_counts_and_the_age_of_the_oldest(shell):
    shell.enqueue("a1", "a2", queue="mail")
    shell.clock.advance(90 * SECOND)
    header, line = shell("queues").stdout.splitlines()
    row = dict(zip(header.split(), line.split(maxsplit=len(header.split()) - 1), strict=False))
    assert (row["QUEUE"], row["WAITING"], row["FAILED"]) == ("mail", "2", "0")
    assert "1m 30s" in line


def test_queues_as_data(shell):
    shell.enqueue("a1", queue="mail")
    shell.fail("a2", queue="mail")
    (queue,) = shell.data("queues", "list", "mail")
    assert queue["counts"] == {"failed": 2}
    assert queue["totals"] == {"failed": 2}
    assert queue["settings"]["keep_failed_seconds"] == 30 * 86_400


def test_pause_closes_and_resume_opens(shell):
    shell.enqueue("a1")
    assert shell("queues", "pause", "default").stdout == "default: paused\n"
    assert shell.claim() == ()
    assert shell("queues", "resume", "default").stdout == "default: open\n"
    assert len(shell.claim()) == 1


def test_resume_does_not_lift_a_block(shell):
    shell("queues", "pause", "mail")
    shell("queues", "block", "mail", "--reason", "incident")
    assert shell("queues", "resume", "mail").stdout == "mail: blocked\n"
    assert shell("queues", "unblock", "mail").stdout == "mail: open\n"


def test_a_pause_for_a_time_ends_by_itself(shell):
    shell.enqueue("a1")
    shell("queues", "pause", "default", "--for", "30s")
    shell.clock.advance(29 * SECOND)
    assert shell.claim() == ()
    shell.clock.advance(2 * SECOND)
    assert len(shell.claim()) == 1


def test_set_changes_what_is_given_and_keeps_the_rest(shell):
    shell("queues", "set", "mail", "--keep-failed", "90d")
    done = shell.data("queues", "set", "mail", "--keep-succeeded", "0s")
    assert done["settings"]["keep_succeeded_seconds"] == 0
    assert done["settings"]["keep_failed_seconds"] == 90 * 86_400
    assert "nothing to set" in shell("queues", "set", "mail", code=2).stderr


def test_purge_counts_asks_and_spares_running_jobs(shell):
    shell.enqueue("runs")
    shell.claim()
    shell.enqueue("waits", "waits2")
    refused = shell("queues", "purge", "default", code=2)
    assert "default: 2 waiting" in refused.stderr
    assert shell.state("waits") is State.WAITING
    shell("queues", "purge", "default", "--yes")
    assert shell.state("waits") is None
    assert shell.state("runs") is State.RUNNING


def test_purge_of_one_state(shell):
    shell.fail("a1")
    shell.enqueue("a2")
    shell("queues", "purge", "default", "-s", "failed", "--yes")
    assert shell.state("a1") is None
    assert shell.state("a2") is State.WAITING


# -- workers ---------------------------------------------------------------------------------------


def beat(shell, worker="w123", **more):
    info = WorkerInfo(
        **({"id": worker, "host": "box", "pid": 7, "version": "0", "queues": ("default",)} | more),
        slots=4,
    )
    return shell.driver.run(shell.driver.housekeeping.beat(Beat(worker=info, ttl=60 * SECOND)))


def test_workers_lists_those_with_a_fresh_beat(shell):
    beat(shell)
    assert [one["id"] for one in shell.data("workers")] == ["w123"]
    assert "box:7" in shell("workers").stdout
    shell.clock.advance(61 * SECOND)
    assert "no worker is running" in shell("workers").stderr


def test_a_worker_is_asked_by_the_start_of_its_id(shell):
    beat(shell)
    beat(shell, "x999")
    assert shell.data("workers", "quiet", "w1") == {"asked": ["w123"]}
    assert beat(shell).command is Command.QUIET
    assert beat(shell, "x999").command is Command.NONE
    shell("workers", "stop", "--all")
    assert beat(shell, "x999").command is Command.STOP


def test_an_unknown_worker_is_exit_3(shell):
    assert "no worker nope" in shell("workers", "stop", "nope", code=3).stderr


def test_workers_must_be_named(shell):
    assert "--all" in shell("workers", "stop", code=2).stderr


# -- cron ------------------------------------------------------------------------------------------


def put(shell, **more):
    template = NewJob(id="-", queue="default", task="app:report", payload=b"{}")
    schedule = Schedule(**({"name": "nightly", "job": template, "cron": "0 3 * * *"} | more))
    request = PutSchedules(put=(schedule,))
    shell.driver.run(shell.driver.scheduling.put_schedules(request))


def test_cron_list(shell):
    put(shell)
    put(shell, name="often", cron=None, every=90 * SECOND)
    text = shell("cron").stdout
    assert "0 3 * * *" in text
    assert "every 1m 30s" in text


def test_cron_next_foresees_ticks(shell):
    put(shell)
    assert shell.data("cron", "next", "nightly", "-n", "2")["ticks"] == [
        "2023-11-15T03:00:00.000000Z",
        "2023-11-16T03:00:00.000000Z",
    ]


def test_cron_run_enqueues_at_once_and_prints_the_id(shell):
    put(shell)
    job_id = shell("cron", "run", "nightly").stdout.strip()
    assert shell.state(job_id) is State.WAITING
    assert shell("cron", "run", "nightly").stdout.strip() != job_id


def test_cron_pause_and_resume(shell):
    put(shell)
    assert shell("cron", "pause", "nightly").stdout == "nightly: paused\n"
    assert shell.data("cron")[0]["paused"] is True
    assert shell("cron", "resume", "nightly").stdout == "nightly: open\n"


def test_an_unknown_schedule_is_exit_3_with_the_nearest_name(shell):
    put(shell)
    assert "Did you mean nightly?" in shell("cron", "next", "nihgtly", code=3).stderr
    assert "Did you mean nightly?" in shell("cron", "pause", "nihgtly", code=3).stderr


# -- status and doctor -----------------------------------------------------------------------------


def test_status_names_queues_workers_and_what_is_wrong(shell):
    shell.enqueue("a1", queue="mail")
    beat(shell)
    result = shell("status")
    assert "mail" in result.stdout
    assert "w123" in result.stdout
    assert "queue mail: 1 waiting, no worker serves it" in result.stderr
    assert "oxmill worker -q mail" in result.stderr


def test_status_as_data(shell):
    shell.enqueue("a1", queue="mail")
    status = shell.data("status")
    assert status["store"] == "memory://"
    assert [one["name"] for one in status["problems"]] == ["queue mail"]


def test_doctor_tells_the_findings_of_the_store_and_of_the_jobs(shell):
    shell.enqueue("a1", queue="mail")
    text = shell("doctor").stdout
    assert "all jobs are lost when the process ends" in text
    assert "no worker serves it" in text


def test_doctor_is_strict_on_demand(shell):
    shell("doctor")
    assert shell.data("doctor", "--strict", code=1)["findings"][0]["level"] == "warn"
