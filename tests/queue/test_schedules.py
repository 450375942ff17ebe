"""Declaring schedules."""

import pytest

from oxmill import App, BadArguments, BadConfig, BadInput, BadSchedule, ScheduleNotFound
from oxmill.model.schedule import CatchUp, Overlap, PutSchedules
from oxmill.rules.cron import tick_job


@pytest.fixture
def app():
    return App("memory://")


@pytest.fixture
def send(app):
    @app.task(name="send", queue="mail", priority=3)
    def send(to: str, *, subject: str = "hi") -> None: ...

    return send


def test_a_call_is_made_at_every_tick_of_an_expression(app, send):
    schedule = app.cron("0 3 * * *", send.bind("ops"), tz="Europe/London")

    assert app.schedules == (schedule,)
    assert (schedule.name, schedule.cron, schedule.zone) == ("send", "0 3 * * *", "Europe/London")
    assert schedule.source == "code"
    job = tick_job(schedule, 1_700_000_000_000_000)
    assert (job.queue, job.task, job.priority) == ("mail", "send", 3)
    assert job.payload == b'{"to":"ops"}'
    assert job.id != tick_job(schedule, 1_700_000_060_000_000).id


def test_a_call_is_made_at_an_interval(app, send):
    schedule = app.every("90s", send.bind("ops"), name="often", jitter="5s")

    assert (schedule.name, schedule.every, schedule.jitter) == ("often", 90_000_000, 5_000_000)


def test_every_term_can_be_given(app, send):
    schedule = app.cron(
        "@daily", send.bind("ops"), name="n", catch_up="all", overlap="skip", window="2h"
    )

    assert (schedule.catch_up, schedule.overlap) == (CatchUp.ALL, Overlap.SKIP)
    assert schedule.window == 7_200_000_000


def test_a_schedule_can_stand_above_its_task(app):
    @app.cron("*/5 * * * *", name="five")
    @app.every("1h", name="hourly")
    @app.task(name="clean")
    def clean(days: int = 3) -> int:
        return days

    assert clean() == 3
    assert [schedule.name for schedule in app.schedules] == ["hourly", "five"]
    assert all(schedule.job.task == "clean" for schedule in app.schedules)


def test_a_task_that_needs_arguments_cannot_stand_below_a_schedule(app, send):
    with pytest.raises(BadArguments, match="missing a required argument"):
        app.cron("@daily")(send)


@pytest.mark.parametrize(
    ("expr", "timing", "words"),
    [
        ("61 * * * *", {}, "61"),
        ("nonsense", {}, "nonsense"),
        ("0 0 31 2 *", {}, "day-of-month"),
        ("* * * * *", {"tz": "Mars/Base"}, "Mars/Base"),
    ],
)
def test_an_expression_that_cannot_be_worked_out_is_refused_where_it_is_written(
    app, send, expr, timing, words
):
    with pytest.raises(BadSchedule, match=words):
        app.cron(expr, send.bind("ops"), **timing)
    assert app.schedules == ()


def test_an_interval_that_cannot_be_is_refused(app, send):
    with pytest.raises(BadSchedule, match="too short"):
        app.every(0, send.bind("ops"))


@pytest.mark.parametrize("timing", [{"catch_up": "some"}, {"overlap": "no"}, {"when": 1}])
def test_a_wrong_term_is_refused(app, send, timing):
    with pytest.raises(BadConfig, match="cannot be used"):
        app.cron("@daily", send.bind("ops"), **timing)


def test_two_schedules_need_two_names(app, send):
    app.cron("@daily", send.bind("ops"))
    app.cron("@daily", send.bind("ops"))

    with pytest.raises(BadConfig, match=r"two schedules are named 'send'.*name="):
        app.cron("@daily", send.bind("other"))

    assert len(app.schedules) == 1


def test_the_store_takes_the_declared_schedules(app, send):
    from oxmill.model.schedule import ListSchedules, PutSchedules  # noqa: PLC0415

    schedule = app.cron("@daily", send.bind("ops"))
    driver = app.driver

    driver.run(driver.scheduling.put_schedules(PutSchedules(put=app.schedules)))

    found = driver.run(driver.scheduling.schedules(ListSchedules())).items
    assert [info.schedule for info in found] == [schedule]


# -- what people do to schedules -------------------------------------------------------------------


@pytest.fixture
def nightly(app, send):
    schedule = app.cron("0 3 * * *", send.bind("ops"), name="nightly")
    app.driver.run(app.driver.scheduling.put_schedules(PutSchedules(put=(schedule,))))
    return schedule


class TestSteering:
    """On every store, blocking and async."""

    @pytest.fixture
    def app(self, new_app):
        return new_app()

    def test_schedules_are_paused_resumed_and_dropped(self, app, nightly, face):
        (info,) = face(app.control, "schedules")
        assert (info.schedule, info.paused) == (nightly, False)

        assert face(app.control, "pause_schedule", "nightly", author="ann") == 1
        assert face(app.control, "pause_schedule", "nightly") == 0
        assert face(app.control, "schedules")[0].paused
        assert face(app.control, "resume_schedule", "nightly") == 1
        assert face(app.control, "drop_schedule", "nightly") == 1
        assert face(app.control, "schedules") == ()
        assert ("schedule_pause", "nightly", "ann") in [
            (event.kind, event.target, event.author) for event in app.events()
        ]

    def test_a_schedule_is_run_now(self, app, nightly, face):
        face(app.control, "pause_schedule", "nightly")
        answer = face(app.control, "run_schedule", "nightly")
        job = app.get(answer.id)
        assert (job.task, job.queue, job.payload) == ("send", "mail", b'{"to":"ops"}')

    def test_its_times_are_changed_until_the_code_is_followed_again(self, app, nightly, face):
        now = face(app.control, "change_schedule", "nightly", "ann", every="90s", jitter="5s")
        assert (now.cron, now.every, now.jitter, now.source) == (None, 90_000_000, 5_000_000, "ann")
        assert now.job == nightly.job
        assert face(app.control, "schedules")[0].schedule == now

        again = face(app.control, "change_schedule", "nightly", cron="@daily", tz="Europe/Paris")
        assert (again.cron, again.every, again.zone) == ("@daily", None, "Europe/Paris")
        assert again.jitter == 5_000_000
        assert face(app.control, "revert_schedule", "nightly").source == "code"

    def test_code_is_no_name_for_a_person(self, app, nightly, face):
        changed = face(app.control, "change_schedule", "nightly", "code", every="90s")
        assert changed.source != "code"

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({}, BadInput),
            ({"cron": "x"}, BadSchedule),
            ({"overlap": "never"}, BadInput),
            ({"cron": "@daily", "every": "1h"}, BadInput),
            ({"nmae": "x"}, BadInput),
        ],
    )
    def test_what_makes_no_sense_changes_nothing(self, app, nightly, face, changes, error):
        with pytest.raises(error, match=r"nightly|cron expression"):
            face(app.control, "change_schedule", "nightly", **changes)
        assert face(app.control, "schedules")[0].schedule == nightly

    @pytest.mark.parametrize(
        "call",
        ["pause_schedule", "resume_schedule", "drop_schedule", "run_schedule", "revert_schedule"],
    )
    def test_an_unknown_one_is_named_with_the_nearest(self, app, nightly, face, call):
        with pytest.raises(ScheduleNotFound, match="Did you mean nightly") as caught:
            face(app.control, call, "nihgtly")
        assert caught.value.near == ("nightly",)


def test_what_is_scheduled_is_a_call_or_a_task(app, send):
    with pytest.raises(BadConfig, match="remind is no task; write @app"):

        @app.cron("@daily")
        def remind() -> None: ...

    with pytest.raises(BadConfig, match=r"scheduled without arguments; write .bind"):
        app.cron("@daily", send)
    with pytest.raises(BadConfig, match="is no call of a task"):
        app.every("1h", "report")
