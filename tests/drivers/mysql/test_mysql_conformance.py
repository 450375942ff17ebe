"""MariaDB keeps the whole contract, through each face, with and without its doorbell."""

from private_mysql import shared_server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.testing.conformance.suite import all_tests, worlds


def mysql(opening):
    url = shared_server().emptied()
    return open_mysql(url, clock=opening.clock, doorbell=opening.doorbell)


world = worlds({"mysql": mysql})
globals().update(all_tests())
