"""What a run knows and says about itself."""

import logging

import pytest

from oxmill import App, Context, LostLease, WrongContext, current
from oxmill.queue.context import CURRENT, Hold, read_progress


@pytest.fixture
def job():
    queue = App("memory://").queue("q")
    queue.add(b"x", id="one", headers={"trace": "t", "oxmill-parent": "zero"})
    return queue.lease(60).job


def test_a_context_tells_about_its_job(job):
    context = Context(job)

    assert (context.id, context.queue, context.task) == ("one", "q", "oxmill:bytes")
    assert (context.attempt, context.failures) == (1, 0)
    assert context.token == job.token
    assert (context.parent, context.flow) == ("zero", None)
    assert context.headers["trace"] == "t"
    assert context.cursor is None
    assert not context.cancelled


def test_current_is_the_context_below_a_run_only(job):
    with pytest.raises(WrongContext, match="no job is running here"):
        current()

    context = Context(job)
    token = CURRENT.set(context)
    assert current() is context
    CURRENT.reset(token)


def test_progress_is_kept_until_a_renewal_has_carried_it(job):
    context = Context(job)
    assert context.unsaved() is None

    context.progress(3, 10, "third")
    data = context.unsaved()
    assert read_progress(data).done == 3

    context.progress(4, 10)
    context.mark_saved(data)
    assert context.unsaved() is not None
    context.mark_saved(context.unsaved())
    assert context.unsaved() is None


def test_a_saved_cursor_asks_for_a_renewal_and_is_seen_at_once(job):
    asked = []
    context = Context(job, Hold(renew_soon=lambda: asked.append(1)))

    context.save({"page": 7})

    assert asked == [1]
    assert context.cursor == {"page": 7}
    assert read_progress(context.unsaved()).cursor == {"page": 7}


def test_a_new_run_goes_on_from_the_cursor(job):
    from msgspec.structs import replace  # noqa: PLC0415

    later = Context(replace(job, progress=b'{"done":1,"cursor":5}'))

    assert later.cursor == 5
    later.progress(2)
    assert later.cursor == 5


def test_progress_that_cannot_be_read_does_not_keep_a_job_from_running():
    assert read_progress(b"\xff").cursor is None


def test_a_lost_or_lapsed_lease_stops_the_run(job):
    hold = Hold()
    context = Context(job, hold)
    context.ensure_lease()

    hold.lost = True
    with pytest.raises(LostLease, match="attempt 1"):
        context.ensure_lease()

    with pytest.raises(LostLease):
        Context(job, Hold(deadline=0.0)).ensure_lease()


def test_a_run_can_see_that_it_is_asked_to_stop(job):
    hold = Hold()
    context = Context(job, hold)
    hold.cancelled = True

    assert context.cancelled


def test_log_records_carry_the_job(job, caplog):
    with caplog.at_level(logging.INFO, logger="oxmill.task"):
        Context(job).log.info("done")

    (record,) = caplog.records
    assert (record.job, record.queue, record.attempt) == ("one", "q", 1)
    assert record.name == "oxmill.task.oxmill:bytes"
