from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from oxmill.errors import BadSchedule
from oxmill.model.job import NewJob
from oxmill.model.schedule import CatchUp, Overlap, Schedule
from oxmill.model.settings import DAY, SECOND
from oxmill.model.unique import OnConflict, UniqueKey, Until
from oxmill.rules.cron import (
    ALIASES,
    AT_ONCE,
    LONGEST,
    SCHEDULE,
    TICK,
    check_schedule,
    due_ticks,
    next_tick,
    tick_job,
    ticks_after,
)
from oxmill.rules.duration import moment

HOUR = 3600 * SECOND
TEMPLATE = NewJob(id="template", queue="default", task="report", payload=b"{}")
ZONES = [
    "UTC",
    "America/New_York",
    "Europe/Paris",
    "Australia/Lord_Howe",  # half an hour of summer time
    "Africa/Cairo",  # the gap is at midnight
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "Pacific/Apia",  # skipped a whole day in 2011
]
EXPRESSIONS = [
    "30 2 * * *",
    "30 1 * * *",
    "0 0 * * *",
    "*/30 * * * *",
    "*/7 */2 * * *",
    "15 1-3 * * *",
    "0 12 L * *",
    "0 0 * * 1#2",
    "*/20 * * * * *",
    "5 10 2 * * *",
    "@hourly",
    "@weekly",
]
INSTANTS = st.integers(
    moment(datetime(2005, 1, 1, tzinfo=UTC)), moment(datetime(2035, 1, 1, tzinfo=UTC))
)


def schedule(cron=None, **changes):
    return Schedule(**({"name": "s", "job": TEMPLATE, "cron": cron} | changes))


def at(text, zone="UTC", fold=0):
    return moment(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold))


def local(tick, zone):
    return datetime.fromtimestamp(tick // SECOND, tz=ZoneInfo(zone)).strftime("%m-%d %H:%M %z")


def ticks(cron, zone, start, count):
    found = islice(ticks_after(schedule(cron, zone=zone), at(start, zone)), count)
    return [local(tick, zone) for tick in found]


def test_a_time_in_the_gap_runs_at_its_end_once():
    assert ticks("30 2 * * *", "America/New_York", "2026-03-07T12:00", 2) == [
        "03-08 03:00 -0400",
        "03-09 02:30 -0400",
    ]


def test_a_time_that_comes_twice_runs_the_first_time_only():
    assert ticks("30 1 * * *", "America/New_York", "2026-10-31T12:00", 2) == [
        "11-01 01:30 -0400",
        "11-02 01:30 -0500",
    ]


def test_the_second_of_two_equal_times_is_not_taken_for_the_first():
    zone = "America/New_York"
    second = at("2026-11-01T01:20", zone, fold=1)

    tick = next_tick(schedule("30 1 * * *", zone=zone), second)

    assert local(tick, zone) == "11-02 01:30 -0500"


def test_a_step_goes_on_through_the_repeated_hour():
    assert ticks("*/30 * * * *", "America/New_York", "2026-11-01T00:45", 5) == [
        "11-01 01:00 -0400",
        "11-01 01:30 -0400",
        "11-01 01:00 -0500",
        "11-01 01:30 -0500",
        "11-01 02:00 -0500",
    ]


def test_six_fields_have_the_seconds_first():
    first = next_tick(schedule("*/10 * * * * *"), at("2026-01-01T00:00"))

    assert first == at("2026-01-01T00:00:10")


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_are_expressions(alias):
    start = at("2026-05-05T05:05")

    assert next_tick(schedule(alias), start) == next_tick(schedule(ALIASES[alias]), start)


@given(cron=st.sampled_from(EXPRESSIONS), zone=st.sampled_from(ZONES), after=INSTANTS)
@example(
    cron="*/30 * * * *",
    zone="Australia/Lord_Howe",
    after=moment(datetime(2026, 4, 4, 14, 0, tzinfo=UTC)),
)
@example(cron="0 0 * * *", zone="Africa/Cairo", after=moment(datetime(2024, 4, 25, tzinfo=UTC)))
def test_ticks_rise_strictly_and_leave_none_out(cron, zone, after):
    given_schedule = schedule(cron, zone=zone)
    walked = list(islice(ticks_after(given_schedule, after), 6))

    # one walk, and a fresh look after each tick, agree
    assert walked == sorted(set(walked))
    assert walked[0] > after
    for before, tick in zip([after, *walked], walked, strict=False):
        assert next_tick(given_schedule, before) == tick
        assert next_tick(given_schedule, tick - 1) == tick


@given(
    zone=st.sampled_from(ZONES),
    day=st.integers(0, 30 * 365),
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
)
def test_a_daily_time_runs_once_on_every_day_that_has_it(zone, day, hour, minute):
    first = datetime(2005, 1, 1, tzinfo=ZoneInfo(zone)) + timedelta(days=day)
    assume(zone != "Pacific/Apia" or abs((first.date() - date(2011, 12, 30)).days) > 3)
    start, end = moment(first), moment(first + timedelta(days=3))

    daily = schedule(f"{minute} {hour} * * *", zone=zone)
    found = [tick for tick in islice(ticks_after(daily, start - 1), 5) if tick < end]

    days = [datetime.fromtimestamp(t // SECOND, tz=ZoneInfo(zone)).date() for t in found]
    assert days == [(first + timedelta(days=n)).date() for n in range(3)]


@given(cron=st.text(max_size=30) | st.text("0123456789*/,-#LW MONJAN@", max_size=30))
def test_any_text_is_a_schedule_or_a_plain_refusal(cron):
    with suppress(BadSchedule):
        check_schedule(schedule(cron))


@pytest.mark.parametrize(
    "bad",
    [
        schedule("61 * * * *"),
        schedule("0 0 31 2 *"),
        schedule("* * * *"),
        schedule("@reboot"),
        schedule("," * (LONGEST + 1)),
        schedule("0 0 * * *", zone="Mars/Olympus"),
        schedule("0 0 * * *", zone="../../etc/passwd"),
        schedule("0 0 * * *", zone="Europe"),
        schedule("0 0 * * *", zone=""),
        schedule(None),
        schedule("0 0 * * *", every=SECOND),
        schedule(every=0),
        schedule(every=SECOND, jitter=-1),
    ],
)
def test_what_cannot_be_worked_out_is_refused(bad):
    with pytest.raises(BadSchedule):
        check_schedule(bad)


@given(every=st.integers(SECOND // 10, 400 * DAY), after=INSTANTS)
def test_intervals_are_counted_from_the_epoch(every, after):
    tick = next_tick(schedule(every=every), after)

    assert tick % every == 0
    assert after < tick <= after + every


NOW = at("2026-06-15T12:00:30")


def due(catch_up, next_at, now=NOW, cron="0 * * * *", **changes):
    return due_ticks(schedule(cron, catch_up=catch_up, **changes), next_at, now)


def test_a_tick_on_time_is_fired_under_every_policy():
    noon = at("2026-06-15T12:00")

    for policy in CatchUp:
        assert due(policy, noon).ticks == (noon,)
        assert due(policy, noon).next_at == at("2026-06-15T13:00")


def test_skip_drops_what_was_missed():
    result = due(CatchUp.SKIP, at("2026-06-15T09:00"), now=at("2026-06-15T12:30"))

    assert result.ticks == ()
    assert result.next_at == at("2026-06-15T13:00")


def test_one_fires_the_newest_missed_tick():
    result = due(CatchUp.ONE, at("2026-06-15T09:00"), now=at("2026-06-15T12:30"))

    assert result.ticks == (at("2026-06-15T12:00"),)


def test_one_lets_go_of_ticks_older_than_the_window():
    result = due(CatchUp.ONE, at("2026-06-15T00:00"), now=at("2026-06-15T03:00"), cron="0 0 * * *")

    assert result.ticks == ()


def test_all_fires_every_tick_within_the_window():
    result = due(CatchUp.ALL, at("2026-06-15T05:00"), window=3 * HOUR)

    assert result.ticks == tuple(at(f"2026-06-15T{h:02}:00") for h in (10, 11, 12))
    assert result.next_at == at("2026-06-15T13:00")


def test_all_makes_up_for_very_many_in_bounded_steps():
    every_second = schedule(every=SECOND, catch_up=CatchUp.ALL, window=DAY)
    expected = NOW - 2 * AT_ONCE * SECOND

    first = due_ticks(every_second, expected, NOW)
    second = due_ticks(every_second, first.next_at, NOW)

    assert len(first.ticks) == AT_ONCE
    assert first.ticks[0] == expected
    assert second.ticks[0] == first.ticks[-1] + SECOND


def test_the_newest_of_millions_is_found_without_walking():
    result = due(CatchUp.ONE, NOW - 300 * DAY, cron="* * * * * *", window=400 * DAY)

    assert result.ticks == (NOW,)


@given(
    cron=st.sampled_from(EXPRESSIONS),
    zone=st.sampled_from(ZONES),
    now=INSTANTS,
    back=st.integers(0, 3 * DAY),
)
def test_the_newest_is_the_last_one_of_a_walk(cron, zone, now, back):
    given_schedule = schedule(cron, zone=zone, window=3 * DAY)
    walk = []
    for tick in islice(ticks_after(given_schedule, now - back - 1), 400):
        if tick > now:
            break
        walk.append(tick)
    assume(len(walk) < 400)

    assert due_ticks(given_schedule, now - back, now).ticks == tuple(walk[-1:])


def test_a_next_tick_that_is_none_fires_nothing_of_its_own():
    # A scheduler that could not work the schedule out put a moment to look again in its place.
    result = due(CatchUp.ONE, at("2026-06-15T12:00:15"))

    assert result.ticks == ()


def test_one_tick_makes_one_job_wherever_it_is_worked_out():
    noon = at("2026-06-15T12:00")

    job = tick_job(schedule("0 * * * *"), noon)

    assert job == tick_job(schedule("0 * * * *"), noon)
    assert len(job.id) == 32
    assert job.id != tick_job(schedule("0 * * * *"), noon + HOUR).id
    assert job.id != tick_job(schedule("0 * * * *", name="other"), noon).id
    assert job.headers == {SCHEDULE: "s", TICK: "2026-06-15T12:00:00+00:00"}
    assert (job.task, job.payload, job.run_at, job.unique) == ("report", b"{}", None, None)


@given(tick=st.integers(0, 10**15), jitter=st.integers(1, DAY))
def test_jitter_delays_within_its_bound_and_always_the_same(tick, jitter):
    job = tick_job(schedule("* * * * *", jitter=jitter), tick)

    assert job.run_at is None or tick < job.run_at <= tick + jitter
    assert job == tick_job(schedule("* * * * *", jitter=jitter), tick)


def test_overlap_becomes_a_unique_key():
    template = Schedule(name="s", job=TEMPLATE, cron="* * * * *")

    keys = {policy: tick_job(with_overlap(template, policy), 0).unique for policy in Overlap}

    assert keys[Overlap.ALLOW] is None
    for policy, then in ((Overlap.SKIP, OnConflict.SKIP), (Overlap.QUEUE_ONE, OnConflict.RERUN)):
        assert keys[policy] == UniqueKey(key="schedule:s", until=Until.FINISHED, on_conflict=then)


@pytest.mark.parametrize("policy", [Overlap.SKIP, Overlap.QUEUE_ONE])
def test_a_unique_key_of_the_job_is_never_replaced(policy):
    own = UniqueKey(key="mine")
    template = Schedule(
        name="s", job=NewJob(**(as_dict(TEMPLATE) | {"unique": own})), cron="* * * * *"
    )
    both = with_overlap(template, policy)

    assert tick_job(both, 0).unique == own
    with pytest.raises(BadSchedule, match="unique key of its own"):
        check_schedule(both)


def as_dict(value):
    return {name: getattr(value, name) for name in value.__struct_fields__}


def with_overlap(given_schedule, policy):
    return Schedule(**(as_dict(given_schedule) | {"overlap": policy}))
