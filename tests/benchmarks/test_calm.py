"""A measurement that the host disturbed is made again, and judged by that alone."""

import pytest
from benchmarks.interleave import CALM, TRIES, calmly
from benchmarks.processors import Look, cores, stolen


def measured(*shares):
    """Measurements to come, each with what was taken meanwhile; and those that were made."""
    made = []

    def measure():
        made.append({"rate": len(made) + 1.0, "stolen": shares[len(made)]})
        return made[-1]

    return measure, made


def test_a_calm_measurement_is_made_once():
    measure, made = measured(CALM, 0.0)

    assert calmly(measure)["rate"] == 1
    assert len(made) == 1


def test_a_disturbed_one_is_made_again():
    measure, made = measured(CALM + 0.01, 0.0, 0.0)

    assert calmly(measure)["rate"] == 2
    assert len(made) == 2


def test_where_none_is_calm_the_calmest_counts():
    measure, made = measured(0.3, 0.1, *[0.2] * (TRIES - 2))

    assert calmly(measure)["rate"] == 2
    assert len(made) == TRIES


def test_what_was_taken_is_a_part_of_what_was_wanted():
    first, last = Look(at=10, worked=100, stolen=5), Look(at=14, worked=106, stolen=7)

    assert cores(first, last) == pytest.approx(1.5)
    assert stolen(first, last) == pytest.approx(0.25)


def test_nothing_to_compare_is_nothing():
    now = Look.now()

    assert (cores(now, now), stolen(now, now)) == (0, 0)
