"""Many claim and settle behind gates at once: limits hold exactly, and nothing gets stuck."""

import pytest
from private_postgres import clean_url

from gate_storm import STORMS, weather
from oxmill.drivers.postgres.driver import open_postgres


@pytest.mark.parametrize("name", STORMS)
def test_limits_hold_and_nothing_is_stuck(name):
    url = clean_url()

    weather(lambda: open_postgres(url, doorbell=False), name, jobs=300)
