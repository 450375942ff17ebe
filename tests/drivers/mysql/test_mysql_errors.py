"""What the error numbers of MySQL and MariaDB mean, and those that a real server can be made to say."""

import errno

import pytest
from private_mysql import QUICK, Server, shared_server
from pymysql import err

from oxmill.drivers.mysql.address import parse
from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.faults import is_conflict, is_lost, is_refused, translated
from oxmill.drivers.mysql.link import Link
from oxmill.errors import (
    BadInput,
    OutcomeUnknown,
    SchemaMismatch,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
    TooBig,
)
from oxmill.model.job import Enqueue, NewJob, Verdict
from oxmill.model.query import Find, Get
from oxmill.testing.operations import plan_for

KINDS = {
    StoreUnavailable: (
        # busy
        *(1020, 1205, 1213, 1412, 1689, 3101, 3572),
        # stopped, killed, cut off
        *(1042, 1043, 1053, 1077, 1079, 1080, 1129, 1152, 1154, 1155, 1156, 1157, 1158, 1159, 1160),
        *(1161, 1184, 1317, 1927, 2002, 2003, 2006, 2013, 2014, 2027, 2055, 3168, 3169, 4031),
        # too slow; only read; not now; short of something
        *(1969, 3024, 1036, 1290, 1792, 1836, 1874, 1881, 1047, 1598, 3032, 3100),
        *(5, 23, 1037, 1038, 1040, 1041, 1135, 1203, 1206, 1226, 1637, 3015),
    ),
    OutcomeUnknown: (1180,),
    StoreFull: (20, 1021, 1114, 1878, 4139),
    StoreRefused: (
        *(1044, 1045, 1049, 1130, 1142, 1143, 1227, 1251, 1370, 1410, 1524, 1665, 1666, 1698),
        *(1820, 1862, 2059, 2061, 3118, 3159, 4150, 4151),
    ),
    SchemaMismatch: (1054, 1146, 1305),
    TooBig: (1153, 1197, 1705),
    BadInput: (1264, 1366, 1406, 1690, 3140),
    StoreError: (1034, 1035, 1064, 1105, 1194, 1195, 1712, 1812, 1817, 1877, 1932, 3000, 3002),
}
BY_CODE = [(code, kind) for kind, codes in KINDS.items() for code in codes]


def said(code, text="some words"):
    return err.OperationalError(code, text)


@pytest.mark.parametrize(("code", "kind"), BY_CODE)
def test_a_number_means_one_kind_of_error(code, kind):
    told = translated(said(code), "mysql://here")
    assert type(told) is kind
    assert str(told).startswith(f"mysql://here: some words ({code}). ")


@pytest.mark.parametrize("code", [1020, 1205, 1213, 1412, 1689, 3101, 3572])
def test_what_met_another_transaction_is_tried_again_on_the_same_connection(code):
    assert is_conflict(said(code))
    assert not is_lost(said(code))


@pytest.mark.parametrize("code", [1047, 1053, 1129, 1180, 1317, 1927, 2006, 2013, 3032, 3168, 3169])
def test_a_connection_that_is_of_no_more_use_is_left(code):
    assert is_lost(said(code))
    assert not is_conflict(said(code))
    assert not is_refused(said(code))


@pytest.mark.parametrize("code", [1036, 1290, 1792, 1836, 1874, 1881])
def test_a_server_that_takes_no_writes_is_left_and_has_done_none(code):
    assert is_lost(said(code))
    assert is_refused(said(code))


@pytest.mark.parametrize("code", [1206, 1969, 3024, 1030, 1153, 1114])
def test_a_connection_whose_statement_was_refused_is_kept(code):
    assert not is_lost(said(code))
    assert not is_conflict(said(code))


ENGINE = [
    # as MariaDB and as MySQL word it
    ('Got error 28 "No space left on device" from storage engine InnoDB', StoreFull),
    ("Got error 28 - 'No space left on device' from storage engine", StoreFull),
    ("Got error 122 from storage engine", StoreFull),
    ('Got error 135 "No more room in record file" from storage engine InnoDB', StoreFull),
    ('Got error 136 "No more room in index file" from storage engine InnoDB', StoreFull),
    ('Got error 189 "Disk full" from storage engine InnoDB', StoreFull),
    ('Got error 122 "Internal (unspecified) error in handler" from storage engine', StoreError),
    ('Got error 128 "Out of memory in engine" from storage engine InnoDB', StoreUnavailable),
    ('Got error 165 "Table is read only" from storage engine InnoDB', StoreUnavailable),
    ('Got error 126 "Index is corrupted" from storage engine InnoDB', StoreError),
    ('Got error 168 "Unknown (generic) error from engine" from storage engine', StoreError),
    ('Got error 5 "Input/output error" from storage engine InnoDB', StoreError),
    ("words that nobody knows", StoreError),
]


@pytest.mark.parametrize(("text", "kind"), ENGINE)
def test_what_a_storage_engine_says_is_told_apart(text, kind):
    assert type(translated(said(1030, text), "here")) is kind


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (3, "Error writing file './x' (Errcode: 28 \"No space left on device\")"),
        (1026, "Error writing file '/tmp/x' (errno: 28 \"No space left on device\")"),
        (1005, 'Can\'t create table `a`.`b` (errno: 28 "No space left on device")'),
    ],
)
def test_a_file_that_cannot_be_written_for_want_of_space(code, text):
    assert type(translated(said(code, text), "here")) is StoreFull
    other = text.replace("28", "13").replace("No space left on device", "Permission denied")
    assert type(translated(said(code, other), "here")) is StoreError


def test_the_numbers_of_the_operating_system_are_not_the_servers():
    """28 and 5 of a socket or a file are not those of the server."""
    for number in (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.ENOTDIR, errno.ESRCH):
        error = OSError(number, "words")
        assert type(translated(error, "here")) is StoreUnavailable
        assert is_lost(error)


# -- a real server ---------------------------------------------------------------------------------


@pytest.fixture
def opened():
    drivers = []

    def opened(url):
        drivers.append(open_mysql(url, doorbell=False))
        return drivers[-1]

    yield opened
    for driver in drivers:
        driver.close()


@pytest.fixture
def own(tmp_path):
    """A maker of one server that only this test uses."""
    servers = []

    def make(*options):
        servers.append(Server(tmp_path / "server", *QUICK, *options))
        return servers[-1].start()

    yield make
    for server in servers:
        server.stop()


def do(driver, request):
    return driver.run(plan_for(driver, request))


def job(job_id, **options):
    return NewJob(**({"queue": "q", "task": "t", "payload": b"{}"} | options), id=job_id)


def connections(driver):
    return driver.transport._pool._idle[:]


def test_a_statement_that_takes_too_long_for_the_server_wrote_nothing(own, opened):
    server = own("--max-statement-time=0.3")
    url = server.database()
    driver = opened(url)
    do(driver, Enqueue(jobs=(job("a"),)))
    before = connections(driver)
    with server.client(url.rpartition("/")[2]) as blocker:
        blocker.cursor().execute("LOCK TABLES oxmill_jobs WRITE")

        with pytest.raises(StoreUnavailable, match="max_statement_time") as caught:
            do(driver, Enqueue(jobs=(job("b"),)))

        assert "1969" in str(caught.value)
        assert type(caught.value) is StoreUnavailable
        blocker.cursor().execute("UNLOCK TABLES")
    assert connections(driver) == before, "the connection is of use again"
    assert do(driver, Get(ids=("b",))) == ()
    (again,) = do(driver, Enqueue(jobs=(job("b"),)))
    assert again.verdict is Verdict.CREATED


def test_a_commit_that_takes_too_long_for_the_server_has_an_unknown_end(own, opened):
    """What was done before is not the same as a commit that was told: only the first is surely undone."""
    server = own("--max-statement-time=0.3")
    driver = opened(server.database())
    do(driver, Enqueue(jobs=(job("a"),)))
    with server.client() as backup:
        for stage in ("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"):
            backup.cursor().execute(f"BACKUP STAGE {stage}")

        with pytest.raises(OutcomeUnknown, match="1969"):
            do(driver, Enqueue(jobs=(job("b"),)))

    (again,) = do(driver, Enqueue(jobs=(job("b"),)))
    assert again.id == "b"
    assert {each.id for each in do(driver, Find()).jobs} == {"a", "b"}


def test_more_than_a_packet_is_too_big(own, opened):
    server = own("--max-allowed-packet=1M")
    driver = opened(server.database())
    do(driver, Enqueue(jobs=(job("a"),)))
    before = connections(driver)

    for size in (1_100_000, 8_000_000):
        with pytest.raises(TooBig, match="max_allowed_packet"):
            do(driver, Enqueue(jobs=(job("b", payload=b"x" * size),)))

    assert connections(driver) == before, "the server was not asked to cut it"
    do(driver, Enqueue(jobs=(job("c", payload=b"x" * 1_047_000),)))
    assert {each.id for each in do(driver, Find()).jobs} == {"a", "c"}


def test_the_largest_statement_that_is_sent_is_the_largest_that_a_server_takes(own):
    server = own("--max-allowed-packet=1M")
    link = Link(parse(f"{server.url}/mysql"))
    try:
        for size, taken in (((1 << 20) - 2, True), ((1 << 20) - 1, False)):
            text = b"SELECT '".ljust(size - 1, b"x") + b"'"
            assert len(text) == size
            if taken:
                assert len(link.send([text])[0].rows[0][0]) == size - 9
            else:
                with pytest.raises(err.OperationalError, match="max_allowed_packet"):
                    link.send([text])
    finally:
        link.close()


TRIGGER = (
    "CREATE TRIGGER fault BEFORE INSERT ON oxmill_jobs FOR EACH ROW "
    "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = '{text}'"
)


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        (1206, "locks", StoreUnavailable),
        (1030, 'Got error 28 "No space left on device" from storage engine', StoreFull),
        (1030, 'Got error 168 "Unknown (generic) error from engine"', StoreError),
        (1047, "WSREP has not yet prepared node for application use", OutcomeUnknown),
        (1180, "Got error 5 during COMMIT", OutcomeUnknown),
    ],
)
def test_what_the_server_says_reaches_the_caller_and_the_store_goes_on(opened, code, text, kind):
    """In place of faults that a healthy server does not have; a trigger says the same."""
    url = shared_server().database()
    name = url.rpartition("/")[2]
    driver = opened(url)
    do(driver, Enqueue(jobs=(job("a"),)))
    shared_server().ask(TRIGGER.format(code=code, text=text), name)

    with pytest.raises(kind) as caught:
        do(driver, Enqueue(jobs=(job("b"),)))

    assert type(caught.value) is kind
    shared_server().ask("DROP TRIGGER fault", name)
    do(driver, Enqueue(jobs=(job("b"),)))
    assert {each.id for each in do(driver, Find()).jobs} == {"a", "b"}
