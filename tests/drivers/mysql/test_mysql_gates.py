"""Many claim and settle behind gates at once: limits hold exactly, and nothing gets stuck."""

import pytest
from private_mysql import shared_server

from gate_storm import STORMS, weather
from oxmill.drivers.mysql.driver import open_mysql


@pytest.mark.parametrize("name", STORMS)
def test_limits_hold_and_nothing_is_stuck(name):
    url = shared_server().emptied()

    weather(lambda: open_mysql(url, doorbell=False), name, jobs=300)
