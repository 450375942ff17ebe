"""Redis keeps the whole contract, through each face, with and without its doorbell."""

from private_redis import shared_server

from oxmill.drivers.redis.driver import open_redis
from oxmill.testing.conformance.suite import all_tests, worlds


def redis(opening):
    server = shared_server()
    return open_redis(
        server.url,
        namespace=opening.path.name,
        clock=opening.clock,
        doorbell=opening.doorbell,
    )


world = worlds({"redis": redis})
globals().update(all_tests())
