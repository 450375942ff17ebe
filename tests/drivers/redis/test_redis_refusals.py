"""A refusal is known by its code, wherever a server or the library puts it, and acted upon alike."""

import contextlib
import os
import socketserver
import threading
import time

import pytest
import redis
from private_redis import WHEELS, program_of
from redis import exceptions as lib
from redis_load import job

from oxmill.drivers.redis.codes import code_of
from oxmill.drivers.redis.driver import open_redis
from oxmill.drivers.redis.faults import refused
from oxmill.drivers.redis.resp import refusal
from oxmill.errors import StoreError, StoreFull, StoreRefused, StoreUnavailable
from oxmill.model.job import Enqueue, Verdict
from oxmill.testing.face import Face
from oxmill.testing.operations import plan_for

SERVERS = pytest.mark.parametrize("name", [None, *WHEELS], ids=str)
FACES = pytest.mark.parametrize("face", Face, ids=str)
IN_6_2 = "Error running script (call to f_bdd2): @user_script:111: @user_script: 111: -{}"


async def write(face, driver, name):
    plan = plan_for(driver, Enqueue(jobs=(job(name),)))
    return (driver.run(plan) if face is Face.BLOCKING else await driver.arun(plan))[0].verdict


def until(check, bound=20):
    deadline = time.monotonic() + bound
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --- what servers say ------------------------------------------------------------------------


@SERVERS
@FACES
async def test_a_primary_that_became_a_replica_is_unavailable(own, name, face):
    server = own(program=program_of(name))
    driver = open_redis(server.url)
    await write(face, driver, "a")
    with server.client() as client:
        client.execute_command("REPLICAOF", "127.0.0.1", "1")

    with pytest.raises(StoreUnavailable, match=r"read only replica.*nothing was written"):
        await write(face, driver, "b")
    driver.close()


@SERVERS
@FACES
async def test_a_primary_without_its_replicas_is_unavailable(own, name, face):
    server = own(program=program_of(name))
    driver = open_redis(server.url)
    await write(face, driver, "a")
    with server.client() as client:
        client.config_set("min-replicas-to-write", 1)
        with pytest.raises(StoreUnavailable, match=r"NOREPLICAS.*nothing was written"):
            await write(face, driver, "b")
        client.config_set("min-replicas-to-write", 0)

    assert await write(face, driver, "b") is Verdict.CREATED
    driver.close()


@SERVERS
@FACES
async def test_a_server_that_cannot_write_its_disk_is_full(own, name, face):
    server = own(program=program_of(name))
    driver = open_redis(server.url)
    await write(face, driver, "a")
    # A folder in place of the file: the snapshot cannot be put there.
    (server.path / "dump.rdb" / "full").mkdir(parents=True)
    with server.client() as client:
        client.config_set("save", "3600 1")
        client.bgsave()
        until(lambda: client.info("persistence")["rdb_last_bgsave_status"] != "ok")

    with pytest.raises(StoreFull, match=r"MISCONF.*Nothing was written"):
        await write(face, driver, "b")
    driver.close()


@SERVERS
@FACES
async def test_a_server_busy_with_a_script_is_unavailable(own, name, face):
    server = own("--lua-time-limit", "50", program=program_of(name))
    driver = open_redis(server.url)
    await write(face, driver, "a")

    def hold():
        with server.client() as client, contextlib.suppress(redis.ResponseError):
            client.eval("while true do end", 0)

    holder = threading.Thread(target=hold)
    holder.start()
    with server.client() as client:
        until(lambda: is_refused(client.ping, "BUSY"))
        with pytest.raises(StoreUnavailable, match=r"BUSY.*nothing was written"):
            await write(face, driver, "b")
        client.script_kill()
    holder.join(20)
    driver.close()


@pytest.mark.parametrize("name", [None, "valkey-9"], ids=str)  # 6.2 hears nobody meanwhile
@FACES
async def test_a_server_that_loads_its_data_is_unavailable(own, name, face):
    server = own(program=program_of(name))
    with server.client() as client:
        client.mset({f"key-{number}": os.urandom(2000) for number in range(1000)})
        client.save()
    server.kill()
    # So many microseconds for each key, and a look at clients after each so many bytes.
    server.options += ["--key-load-delay", "10000", "--loading-process-events-interval-bytes"]
    server.options += ["1024"]
    server.wait = lambda: None  # it is not to have loaded
    server.start()
    driver = open_redis(server.url)
    with server.client() as client:
        until(lambda: is_refused(client.ping, "LOADING"))
        with pytest.raises(StoreUnavailable, match=r"loading the dataset.*nothing was written"):
            await write(face, driver, "a")
    driver.close()


def is_refused(ask, code):
    try:
        ask()
    except redis.RedisError as error:
        return code_of(error) == code
    return False


async def test_a_server_with_too_many_clients_has_not_refused_the_password(own):
    server = own("--requirepass", "secret", password="secret")
    driver = open_redis(f"redis://:secret@127.0.0.1:{server.port}/0")
    with server.client() as client:
        client.config_set("maxclients", 1)
        for face in Face:
            with pytest.raises(StoreUnavailable):
                await write(face, driver, "a")
        client.config_set("maxclients", 100)

    assert await write(Face.ASYNC, driver, "a") is Verdict.CREATED
    driver.close()


# --- who is followed -------------------------------------------------------------------------


class Sentinel(socketserver.ThreadingTCPServer):
    """Names the port that it was told."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), Told)
        self.named = port
        self.url = f"redis+sentinel://127.0.0.1:{self.server_address[1]}/mill/0?timeout=2"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Told(socketserver.StreamRequestHandler):
    def handle(self):
        while head := self.rfile.readline():
            words = []
            for _ in range(int(head[1:])):
                size = int(self.rfile.readline()[1:])
                words.append(self.rfile.read(size + 2)[:-2])
            if words[0] == b"SENTINEL":
                port = b"%d" % self.server.named
                self.wfile.write(b"*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%b\r\n" % (len(port), port))
            else:
                self.wfile.write(b"+PONG\r\n" if words[0] == b"PING" else b"+OK\r\n")


@SERVERS
@FACES
async def test_a_client_leaves_a_primary_that_was_demoted_under_it(own, name, face):
    old, new = own(program=program_of(name)), own(program=program_of(name))
    with Sentinel(old.port) as sentinel:
        driver = open_redis(sentinel.url)
        await write(face, driver, "a")
        with old.client() as before, new.client() as after:
            after.execute_command("REPLICAOF", "127.0.0.1", old.port)
            until(lambda: after.info("replication").get("master_link_status") == "up")
            after.execute_command("REPLICAOF", "NO", "ONE")
            sentinel.named = new.port
            before.execute_command("REPLICAOF", "127.0.0.1", new.port)  # all links stay open

            assert await write(face, driver, "b") is Verdict.CREATED

            assert after.hlen("{oxmill:0}:jobs") == 2
        driver.close()
        sentinel.shutdown()


# --- the mapping -----------------------------------------------------------------------------

FULL, BARRED, PASSES = StoreFull, StoreRefused, StoreUnavailable
TOLD = [
    ("OOM command not allowed when used memory > 'maxmemory'.", "OOM", FULL),
    ("MISCONF Errors writing to the AOF file: No space left on device", "MISCONF", FULL),
    ("READONLY You can't write against a read only replica.", "READONLY", PASSES),
    ("NOREPLICAS Not enough good replicas to write.", "NOREPLICAS", PASSES),
    ("LOADING Redis is loading the dataset in memory", "LOADING", PASSES),
    ("BUSY Redis is busy running a script.", "BUSY", PASSES),
    ("UNKILLABLE Sorry the script already executed write commands", "UNKILLABLE", PASSES),
    ("MASTERDOWN Link with MASTER is down", "MASTERDOWN", PASSES),
    ("CLUSTERDOWN The cluster is down", "CLUSTERDOWN", PASSES),
    ("TRYAGAIN Multiple keys request during rehashing of slot", "TRYAGAIN", PASSES),
    ("NOPERM this user has no permissions to run the 'wait' command", "NOPERM", BARRED),
    ("DENIED Redis is running in protected mode", "DENIED", BARRED),
    ("WRONGTYPE Operation against a key holding the wrong kind of value", "WRONGTYPE", StoreError),
    ("BUSYGROUP Consumer Group name already exists", "BUSYGROUP", StoreError),
]


@pytest.mark.parametrize(("text", "code", "error"), TOLD, ids=[code for _, code, _ in TOLD])
def test_a_code_is_found_wherever_it_stands(text, code, error):
    in_7 = f"{text} script: bdd2, on @user_script:111."
    for said in (text, in_7, IN_6_2.format(text), "ERR " + IN_6_2.format(text)):
        for reply in (refusal(said), of_library(said)):
            assert code_of(reply) == code
            assert type(refused("x", reply)) is error


def of_library(text):
    """As the library's own reader gives it, which takes some codes off."""
    return redis.connection.DefaultParser(1).parse_error(text)


@pytest.mark.parametrize(
    ("reply", "code", "error"),
    [
        (lib.MovedError("1 host:2"), "MOVED", PASSES),
        (lib.AskError("1 host:2"), "ASK", PASSES),
        (lib.AuthenticationError("Authentication required."), "NOAUTH", BARRED),
        (refusal("WRONGPASS invalid username-password pair"), "NOAUTH", BARRED),
        (
            refusal("ERR Error running script: ACL failure in script: no permission"),
            "NOPERM",
            BARRED,
        ),
        (
            refusal(f"ERR {IN_6_2.format('')[:-1]}The user executing the script can't run this"),
            "NOPERM",
            BARRED,
        ),
        (refusal("ERR max number of clients reached"), "MAXCLIENTS", PASSES),
        (refusal("ERR unknown command"), "ERR", StoreError),
        (lib.ResponseError("unknown command"), "ERR", StoreError),
        # What somebody wrote into a job is no code.
        (refusal("ERR odd value: 12: -READONLY You can't"), "ERR", StoreError),
        (refusal("ERR Error running script (call to f_1): READONLY it"), "ERR", StoreError),
    ],
    ids=str,
)
def test_a_refusal_without_a_code_in_its_text_is_known_too(reply, code, error):
    assert code_of(reply) == code
    assert type(refused("x", reply)) is error
