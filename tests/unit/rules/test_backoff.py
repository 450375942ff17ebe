from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxmill.model.outcome import Retry
from oxmill.rules.backoff import delay_after
from oxmill.rules.duration import micros

CHANCES = st.floats(min_value=0, max_value=1, exclude_max=True)


def waits(policy, attempts, chance=0.5):
    return [delay_after(policy, n, chance) / 1e6 for n in range(1, attempts)]


def test_the_default_policy_spreads_twenty_attempts_over_about_a_day():
    total = sum(waits(Retry(20), 20)) / 3600

    assert 22 < total < 26


def test_exponential_doubles_up_to_the_cap():
    policy = Retry(base="2s", cap="10s", jitter=False)

    assert waits(policy, 6) == [2, 4, 8, 10, 10]


def test_linear_grows_by_the_base():
    assert waits(Retry(backoff="linear", base=3, jitter=False), 5) == [3, 6, 9, 12]


def test_fixed_stays():
    assert waits(Retry(backoff="fixed", base="1m", jitter=False), 4) == [60, 60, 60]


def test_the_last_wait_of_a_list_serves_for_all_beyond_it():
    policy = Retry(backoff=[1, "5s", timedelta(minutes=1)], jitter=False)

    assert waits(policy, 6) == [1, 5, 60, 60, 60]


def test_an_empty_list_waits_for_nothing():
    assert delay_after(Retry(backoff=[], jitter=False), 3, 0.0) == 0


@given(failures=st.integers(min_value=1, max_value=10**9), chance=CHANCES)
def test_jitter_stays_between_half_and_one_and_a_half(failures, chance):
    plain = delay_after(Retry(jitter=False), failures, chance)

    assert plain // 2 <= delay_after(Retry(), failures, chance) <= plain * 3 // 2 + 1


@given(
    failures=st.integers(min_value=0, max_value=10**9),
    backoff=st.sampled_from(["exponential", "linear", "fixed"]),
)
def test_the_cap_holds_however_often_it_failed(failures, backoff):
    policy = Retry(backoff=backoff, cap="90s", jitter=False)

    assert 0 < delay_after(policy, failures, 0.0) <= micros("90s")


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.999])
def test_the_same_chance_gives_the_same_wait(chance):
    assert delay_after(Retry(), 4, chance) == delay_after(Retry(), 4, chance)


@pytest.mark.parametrize(
    ("policy", "written"),
    [
        (Retry(5), "Retry(5)"),
        (Retry(), "Retry()"),
        (Retry(after="30s"), "Retry(after='30s')"),
        (
            Retry(3, base="2s", jitter=False, on=(OSError, KeyError), give_up_on=(ValueError,)),
            "Retry(3, base='2s', jitter=False, on=(OSError, KeyError), give_up_on=(ValueError,))",
        ),
    ],
)
def test_a_policy_is_shown_as_it_is_written(policy, written):
    assert repr(policy) == written
