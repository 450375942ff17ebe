from hypothesis import given
from hypothesis import strategies as st

from oxmill.rules.polling import LONGEST_PAUSE, SHARE, look_cost, pause_after, poll_interval

BOUNDS = (0.05, 1.0)
COSTS = st.floats(min_value=0, max_value=10)


def test_a_cheap_store_without_a_bell_is_looked_at_every_50_ms():
    assert poll_interval(0.0003, bell=False, bounds=BOUNDS) == 0.05


def test_a_dear_store_without_a_bell_is_looked_at_more_rarely():
    assert poll_interval(0.005, bell=False, bounds=BOUNDS) == 0.25


def test_with_a_bell_the_look_is_only_a_safety_net():
    assert poll_interval(0.0003, bell=True, bounds=BOUNDS) == 1.0


@given(cost=COSTS)
def test_looks_stay_within_the_bounds_and_below_their_share(cost):
    interval = poll_interval(cost, bell=False, bounds=BOUNDS)

    assert BOUNDS[0] <= interval <= BOUNDS[1]
    assert interval == BOUNDS[1] or cost <= interval * SHARE * 1.0001


@given(troubles=st.integers(1, 10**6), chance=st.floats(0, 1, exclude_max=True))
def test_pauses_are_bounded_and_never_zero(troubles, chance):
    assert 0 < pause_after(troubles, chance) <= LONGEST_PAUSE


def test_pauses_grow():
    assert [pause_after(n, 0.5) for n in (1, 2, 3)] == sorted(
        pause_after(n, 0.5) for n in (1, 2, 3)
    )
    assert pause_after(1, 0.5) < pause_after(5, 0.5)


def test_one_slow_look_hardly_counts_and_many_do():
    cost = look_cost(0.0, 0.0002)
    assert look_cost(cost, 5.0) < 0.0003

    for _ in range(50):
        cost = look_cost(cost, 0.01)
    assert cost == 0.01
    assert look_cost(cost, 0.0002) == 0.0002
