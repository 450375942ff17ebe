import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxmill.errors import BadInput
from oxmill.rules.rate import Rate, rate

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "interval", "burst"),
    [
        ("100/s", 10_000, 10),
        ("10/10s", SECOND, 1),
        ("5/min", 12 * SECOND, 1),
        ("5/min burst 2", 12 * SECOND, 2),
        ("3/s", 333_334, 1),
        ("1/500ms", 500_000, 1),
        ("7/hour", -(-3600 * SECOND // 7), 1),
        ("1/2 days burst 1000000", 2 * 86_400 * SECOND, 1_000_000),
        (" 20 / 2 Minutes  BURST 4 ", 6 * SECOND, 4),
        ("1000000/s", 1, 100_000),
        ("1/w", 7 * 86_400 * SECOND, 1),
    ],
)
def test_rates_are_read_as_people_write_them(text, interval, burst):
    assert rate(text) == Rate(interval=interval, burst=burst)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "often",
        "10",
        "10/",
        "/s",
        "0/s",
        "10/0s",
        "-1/s",
        "1.5/s",
        "10/fortnight",
        "10/s burst",
        "10/s burst 0",
        "10/s burst 1000001",
        "1000001/s",
        "2/us",
        "1/400d",
        "10/s burst 5 more",
    ],
)
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(BadInput, match=r"rate|length of time"):
        rate(text)


def test_a_rest_gives_the_burst_and_no_more():
    some = Rate(interval=10, burst=3)

    assert some.room(0, 1_000) == 3
    assert some.room(1_000, 1_000) == 3
    assert some.room(1_001, 1_000) == 2
    assert some.room(1_020, 1_000) == 1
    assert some.room(1_021, 1_000) == 0
    assert some.room(9_999, 1_000) == 0


rates = st.builds(Rate, interval=st.integers(1, 50), burst=st.integers(1, 6))


@given(some=rates, steps=st.lists(st.tuples(st.integers(0, 120), st.integers(0, 8)), max_size=40))
def test_no_window_holds_more_than_burst_and_rate_allow(some, steps):
    now, tat, starts = 1_000, 0, []
    for wait, wanted in steps:
        now += wait
        taken = min(wanted, some.room(tat, now))
        tat = some.spend(tat, now, taken) if taken else tat
        starts += [now] * taken

    for first in range(len(starts)):
        for last in range(first, len(starts)):
            length = starts[last] - starts[first]
            assert last - first + 1 <= some.burst + length / some.interval


@given(some=rates, tat=st.integers(0, 500), now=st.integers(0, 500))
def test_there_is_room_from_the_moment_it_opens_and_not_before(some, tat, now):
    assert (some.room(tat, now) > 0) == (now >= some.opens_at(tat))


@given(some=rates, tat=st.integers(0, 500), now=st.integers(0, 500))
def test_starts_one_by_one_use_up_what_they_do_together(some, tat, now):
    room, one_by_one = some.room(tat, now), tat
    for _ in range(room):
        assert some.room(one_by_one, now) > 0
        one_by_one = some.spend(one_by_one, now, 1)

    assert some.room(one_by_one, now) == 0
    if room:
        assert one_by_one == some.spend(tat, now, room)


@given(some=rates, waits=st.lists(st.integers(0, 200), max_size=30))
def test_who_asks_all_the_time_gets_the_rate_in_the_long_run(some, waits):
    now, tat, taken = 0, 0, 0
    for wait in waits:
        for moment in range(now, now + wait):
            if some.room(tat, moment):
                tat = some.spend(tat, moment, 1)
                taken += 1
        now += wait

    assert taken >= now // some.interval
