"""Lists longer than what one Lua call may unpack."""

from redis_load import do

from oxmill.drivers.redis.driver import open_redis
from oxmill.model.info import Beat, ListWorkers, WorkerInfo
from oxmill.model.job import NewJob
from oxmill.model.schedule import ListSchedules, PutSchedules, Schedule

MANY = 9_000


def test_thousands_of_schedules_are_listed(redis_server):
    driver = open_redis(redis_server.url, namespace="many schedules")
    job = NewJob(id="-", queue="q", task="t", payload=b"")
    names = [f"s{n:05}" for n in range(MANY)]
    for first in range(0, MANY, 1_000):
        some = (Schedule(name=name, job=job, cron="* * * * *") for name in names[first:][:1_000])
        do(driver, PutSchedules(put=tuple(some)))

    listed = do(driver, ListSchedules(limit=MANY))

    assert [info.schedule.name for info in listed.items] == names
    driver.close()


def test_thousands_of_workers_are_listed(redis_server):
    driver = open_redis(redis_server.url, namespace="many workers")
    for number in range(MANY):
        do(driver, Beat(worker=WorkerInfo(f"w{number}", "h", 1, "1", ("q",), 1), ttl=3_600_000_000))

    assert len(do(driver, ListWorkers()).items) == MANY
    driver.close()
