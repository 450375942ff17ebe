"""TLS, unix sockets, and links that have gone silent: from threads and from an event loop."""

import asyncio
import contextlib
import shutil
import subprocess

import pytest
import redis
from private_redis import free_port
from redis_load import enqueue, job

from meddler import Meddler
from oxmill.drivers.redis.driver import open_redis
from oxmill.errors import OutcomeUnknown, StoreUnavailable
from oxmill.model.job import Enqueue, Verdict
from oxmill.store.doorbell import work
from oxmill.testing.face import Face
from oxmill.testing.operations import plan_for

FACES = pytest.mark.parametrize("face", Face, ids=str)
PATIENCE = 10
LONG = 60.0
"""Seconds after which no link is taken to be alive without a look."""


async def write(face, driver, name):
    plan = plan_for(driver, Enqueue(jobs=(job(name),)))
    return (driver.run(plan) if face is Face.BLOCKING else await driver.arun(plan))[0].verdict


@pytest.fixture
def unix(own, tmp_path):
    path = tmp_path / "r.sock"
    own("--unixsocket", path)
    return f"unix://{path}?db=3"


@pytest.fixture
def tls(own, tmp_path):
    """The address of a server that speaks TLS, without and with the certificate to trust."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", key, "-out", certificate, "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    port = free_port()
    files = ("--tls-cert-file", certificate, "--tls-key-file", key)
    files += ("--tls-ca-cert-file", certificate, "--tls-auth-clients", "no")
    try:
        own("--tls-port", port, *files)
    except redis.ConnectionError:
        pytest.skip("this server was built without TLS")
    url = f"rediss://127.0.0.1:{port}/0"
    return url, f"{url}?ssl_ca_certs={certificate}"


@FACES
async def test_a_unix_socket_will_do(unix, face):
    driver = open_redis(unix)

    assert await write(face, driver, "a") is Verdict.CREATED
    driver.close()


@FACES
async def test_tls_is_spoken_and_checked(tls, face):
    wary, trusting = map(open_redis, tls)

    assert await write(face, trusting, "a") is Verdict.CREATED
    with pytest.raises(StoreUnavailable, match="certificate"):
        await write(face, wary, "b")
    trusting.close()
    wary.close()


@pytest.mark.parametrize("by", ["tls", "unix"])
async def test_the_doorbell_of_a_loop_is_heard_over_such_links_too(request, by):
    url = request.getfixturevalue(by)
    driver = open_redis(url if by == "unix" else url[1])
    with driver.doorbell.attend([work("q")]) as bell:
        assert await bell.arrive(PATIENCE)  # it listens now
        while await bell.arrive(0.05):
            pass
        await write(Face.ASYNC, driver, "a")

        assert await bell.arrive(PATIENCE)
    driver.close()


@pytest.mark.parametrize("by", ["tls", "unix"])
def test_the_doorbell_of_threads_is_heard_over_such_links_too(request, by):
    url = request.getfixturevalue(by)
    driver = open_redis(url if by == "unix" else url[1])
    with driver.doorbell.listen([work("q")]) as bell:
        enqueue(driver, "a")

        assert bell.wait(PATIENCE)
    driver.close()


class HalfOpen(Meddler):
    """Links that are there can be made to swallow all they are given; new ones are sound."""

    def __init__(self, port):
        self.dead = frozenset()
        super().__init__(port)

    def silence(self):
        with self.lock:
            self.dead = frozenset(client for client, _ in self.pairs)

    def _ask(self, client, server, doomed):
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 20):
                if client not in self.dead:
                    server.sendall(data)


@pytest.fixture
def meddler(redis_server):
    meddler = HalfOpen(redis_server.port)
    yield meddler
    meddler.close()


def age(driver, face):
    """Nothing was heard on its link for a long time."""
    if face is Face.BLOCKING:
        (lane,) = driver.transport._lanes.values()
        lane._used -= LONG
        lane._connection.next_health_check -= LONG
    else:
        (lane,) = driver.transport._loops.of(asyncio.get_running_loop(), dict).values()
        lane._wire.heard_at -= LONG


@FACES
async def test_a_link_that_was_long_silent_is_asked_for_a_sign_of_life(
    redis_server, namespace, meddler, face
):
    """Else a write would be sent into the void, and nobody could say what came of it."""
    url = f"{meddler.through(redis_server.url)}?timeout=0.5"
    driver = open_redis(url, namespace=namespace)
    await write(face, driver, "a")
    age(driver, face)
    meddler.silence()

    assert await write(face, driver, "b") is Verdict.CREATED

    assert len(meddler.pairs) == 2  # by another link
    meddler.silence()
    with pytest.raises(OutcomeUnknown):  # of one that has just been heard nothing is asked
        await write(face, driver, "c")
    driver.close()


@FACES
async def test_a_link_that_gives_a_sign_of_life_is_kept(redis_server, namespace, meddler, face):
    driver = open_redis(meddler.through(redis_server.url), namespace=namespace)
    await write(face, driver, "a")
    with redis_server.client() as client:
        client.config_resetstat()
        age(driver, face)

        assert await write(face, driver, "b") is Verdict.CREATED

        assert client.info("commandstats")["cmdstat_ping"]["calls"] == 1
    assert len(meddler.pairs) == 1
    driver.close()
