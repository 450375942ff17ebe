from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxmill.errors import BadInput
from oxmill.rules.duration import micros, moment, spell


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("90s", 90_000_000),
        ("1h30m", 5_400_000_000),
        ("250ms", 250_000),
        ("2d", 172_800_000_000),
        (" 1.5 s ", 1_500_000),
        (0, 0),
        (0.25, 250_000),
        (timedelta(minutes=1), 60_000_000),
    ],
)
def test_lengths_of_time_as_people_write_them(written, meant):
    assert micros(written) == meant


@pytest.mark.parametrize("written", ["", "5", "5 parsecs", "-1s", -1, True, float("nan"), "1h x"])
def test_what_is_no_length_of_time_is_refused(written):
    with pytest.raises(BadInput):
        micros(written)


@given(
    when=st.datetimes(
        min_value=datetime(1980, 1, 1),  # noqa: DTZ001 - Hypothesis wants naive bounds
        max_value=datetime(2100, 1, 1),  # noqa: DTZ001
        timezones=st.sampled_from([ZoneInfo("America/New_York"), ZoneInfo("Asia/Kathmandu")]),
    )
)
def test_a_moment_keeps_its_instant_in_summer_and_in_winter(when):
    assert moment(when) == round(when.replace(microsecond=0).timestamp()) * 10**6 + when.microsecond


def test_a_moment_needs_a_zone():
    with pytest.raises(BadInput):
        moment(datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("length", "text"),
    [(40, "40us"), (40_000, "40ms"), (3_200_000, "3.2s"), (3_900_000_000, "1h 5m")],
)
def test_lengths_are_spelled_for_people(length, text):
    assert spell(length) == text
