"""What a worker tells: events, log lines, numbers."""

import asyncio
import json
import logging
import time

import pytest

from oxmill.model.outcome import Retry
from oxmill.model.settings import SECOND
from oxmill.observe.bus import Bus
from oxmill.observe.events import LoopBlocked, RunEnded, RunFailed, StoreBack
from oxmill.observe.log import JsonFormatter, LogLines, TextFormatter, set_up_logging
from oxmill.observe.metrics import Histogram, Metrics
from oxmill.worker.memory import resident
from oxmill.worker.systemd import Systemd

EVENT = RunFailed(
    job="j1",
    task="mail",
    queue="default",
    attempt=2,
    outcome="retry",
    seconds=0.01234,
    error="ValueError",
    detail='no "such" thing',
    traceback="Traceback:\n  line\n",
)


def record_of(event):
    logger = logging.getLogger("oxmill.test")
    records = []
    logger.handle = records.append
    logger.setLevel(logging.DEBUG)
    LogLines(logger).write(event)
    return records[0]


def test_a_text_line_has_words_then_fields_then_what_is_long():
    line, *below = TextFormatter().format(record_of(EVENT)).splitlines()

    assert "WARNING  run failed job=j1 task=mail queue=default attempt=2" in line
    assert 'seconds=0.0123 error=ValueError detail="no \\"such\\" thing"' in line
    assert below == ["Traceback:", "  line"]


def test_a_json_line_is_one_object():
    line = JsonFormatter().format(record_of(EVENT))
    told = json.loads(line)

    assert "\n" not in line
    assert (told["message"], told["level"], told["logger"]) == (
        "run failed",
        "warning",
        "oxmill.test",
    )
    assert (told["job"], told["seconds"], told["detail"]) == ("j1", 0.01234, 'no "such" thing')


def test_an_exception_is_part_of_both(caplog):
    error = ValueError("nope")
    logging.getLogger("oxmill.x").error("it broke", exc_info=error)
    record = caplog.records[0]

    assert "ValueError: nope" in TextFormatter().format(record)
    assert "ValueError: nope" in json.loads(JsonFormatter().format(record))["traceback"]


@pytest.fixture
def _own_logging():
    logger = logging.getLogger("oxmill")
    before = (logger.handlers[:], logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.level, logger.propagate = before


@pytest.mark.usefixtures("_own_logging")
def test_setting_up_twice_changes_the_style_and_doubles_nothing(capsys):
    set_up_logging("text")
    set_up_logging("json")
    logging.getLogger("oxmill.worker").info("hello", extra={"job": "j"})
    lines = capsys.readouterr().err.splitlines()

    assert len(lines) == 1
    assert json.loads(lines[0])["job"] == "j"


def test_a_listener_that_raises_harms_nobody(caplog):
    bus, heard = Bus(), []

    def broken(_event):
        raise RuntimeError("oops")

    bus.subscribe(broken, StoreBack)
    forget = bus.subscribe(heard.append, StoreBack)
    event = StoreBack(agent="a", after=1)
    bus.emit(event)

    assert heard == [event]
    assert "oops" in caplog.text

    forget()
    bus.emit(event)
    assert heard == [event]
    assert not bus.wants(RunEnded)


def test_a_histogram_counts_by_bounds():
    histogram = Histogram()
    for value in (0.0005, 0.001, 0.02, 9999.0):
        histogram.add(value)

    assert (histogram.count, histogram.buckets[0], histogram.buckets[-1]) == (4, 2, 1)
    assert histogram.total == pytest.approx(9999.0215)


async def test_a_worker_counts_what_it_did(quick):
    @quick.task(name="good")
    async def good():
        pass

    @quick.task(name="bad", retry=Retry(1))
    async def bad():
        raise ValueError

    worker = await quick.start()
    for task in (good, good, bad):
        await quick.ended(await quick.enqueue(task))

    assert dict(worker.metrics.outcomes()) == {"complete": 2, "fail": 1}
    assert worker.metrics.runs["default", "good", "complete"].count == 2
    assert worker.metrics.settled == 3
    assert isinstance(worker.metrics, Metrics)


async def test_a_blocked_loop_is_shown_with_its_stack(quick):
    @quick.task
    async def block_the_loop():
        time.sleep(0.6)  # noqa: ASYNC251 - the very mistake

    await quick.start()
    await quick.ended(await quick.enqueue(block_the_loop))
    event = await quick.hear(LoopBlocked)

    assert "block_the_loop" in event.stack
    assert event.seconds >= 0.25
    assert len(quick.events(LoopBlocked)) == 1


async def test_the_start_is_told_in_five_lines(quick, caplog):
    @quick.task(name="send", queue="mail")
    async def send():
        pass

    with caplog.at_level(logging.INFO, "oxmill.worker"):
        await quick.start(slots=4)
    told = [record.getMessage() for record in caplog.records]
    text = [line for line in told if not line.startswith("unsafe store")][:5]

    assert text == [
        "store      memory://",
        "queues     default, mail (4 slots)",
        "tasks      1: send",
        "schedules  none",
        "stop       Ctrl-C or SIGTERM: drains for 2s, then releases; twice: now",
    ]


def test_a_line_per_job_costs_nothing_where_nobody_reads_it():
    bus, logger = Bus(), logging.Logger("quiet", logging.WARNING)  # noqa: LOG001 - one of its own

    LogLines(logger).attach(bus)

    assert bus.wants(RunFailed)
    assert not bus.wants(RunEnded)


async def test_systemd_hears_of_the_whole_life(quick, tmp_path, monkeypatch):
    heard = asyncio.Queue()

    class Ears(asyncio.DatagramProtocol):
        def datagram_received(self, data, _address):
            heard.put_nowait(data.decode())

    import socket  # noqa: PLC0415

    address = str(tmp_path / "notify")
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(address)
    receiver.setblocking(False)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(Ears, sock=receiver)
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    monkeypatch.setenv("WATCHDOG_USEC", str(SECOND // 5))
    worker = await quick.start()

    assert (await asyncio.wait_for(heard.get(), 5)).startswith("READY=1")
    assert await asyncio.wait_for(heard.get(), 5) == "WATCHDOG=1"
    worker.stop()
    await quick.code_of(worker)
    said = []
    while not heard.empty():
        said.append(heard.get_nowait())
    assert any(text.startswith("STOPPING=1") for text in said)
    transport.close()


def test_without_systemd_nothing_is_sent():
    Systemd({}).ready("x")
    Systemd({"NOTIFY_SOCKET": "/no/such/place"}).alive()

    assert Systemd({"WATCHDOG_USEC": "soon"}).alive_every is None


def test_memory_is_known():
    assert resident() > 10_000_000
