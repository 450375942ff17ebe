"""Planted bugs: each is one mistake that a driver might make, in a copy of the memory driver.

A mutant is a list of patches that hold only while the mutated store performs a plan, so that the
healthy reference beside it keeps its head.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, wraps
from unittest.mock import patch

import msgspec

from oxmill.drivers.memory import (
    claiming,
    enqueueing,
    housekeeping,
    inspecting,
    record,
    scheduling,
    settling,
    steering,
    world,
)
from oxmill.drivers.memory.driver import open_memory
from oxmill.drivers.memory.transport import MemoryTransport
from oxmill.drivers.memory.world import Claimant, World
from oxmill.model.bounds import DEFAULT_BOUNDS
from oxmill.model.job import Reason
from oxmill.model.rule import RuleKind
from oxmill.model.settings import SECOND
from oxmill.model.settlement import Outcome, Ruling
from oxmill.model.state import TERMINAL, Change, State
from oxmill.testing.conformance import cancelling as cancelling_tests
from oxmill.testing.conformance import claiming as claiming_tests
from oxmill.testing.conformance import concurrency as concurrency_tests
from oxmill.testing.conformance import doorbell as doorbell_tests
from oxmill.testing.conformance import fidelity as fidelity_tests
from oxmill.testing.conformance import following as following_tests
from oxmill.testing.conformance import housekeeping as housekeeping_tests
from oxmill.testing.conformance import inspecting as inspecting_tests
from oxmill.testing.conformance import leases as lease_tests
from oxmill.testing.conformance import redriving as redriving_tests
from oxmill.testing.conformance import retention as retention_tests
from oxmill.testing.conformance import ruling as rule_tests
from oxmill.testing.conformance import scheduling as scheduling_tests
from oxmill.testing.conformance import settling as settling_tests
from oxmill.testing.conformance import unique as unique_tests

MUTANTS = {}
STORIES = {"mutants": "plain", "gate_mutants": "gates", "flow_mutants": "flows"}


@dataclass(frozen=True)
class Mutant:
    """A bug, and the conformance test that finds it; without one, the state machine must."""

    open: Callable
    found_by: Callable | None
    stories: str
    """What the machine's stories are about."""


def mutant(*places, found_by=None, **arguments):
    """Plant the function that follows at these places; it is given what it takes the place of."""

    def plant(make):
        patches = [(owner, name, make(getattr(owner, name))) for owner, name in places]
        return mutant_driver(found_by, **arguments)(
            wraps(make)(lambda clock: bewitched(open_memory(clock=clock), patches))
        )

    return plant


def mutant_driver(found_by, **arguments):
    """The function that follows opens a driver with a bug."""

    def plant(open_driver):
        test = None if found_by is None else partial(found_by, **arguments)
        stories = STORIES[open_driver.__module__]
        MUTANTS[open_driver.__name__.replace("_", " ")] = Mutant(open_driver, test, stories)
        return open_driver

    return plant


def bewitched(driver, patches):
    """A driver that performs plans with these patches in place."""
    return replace(driver, transport=Bewitched(driver.transport, patches))


@dataclass(frozen=True)
class Bewitched:
    """Performs plans with the patches of a mutant in place, and takes them away again."""

    inner: object
    patches: list

    def run(self, plan):
        with ExitStack() as stack:
            for owner, attribute, wrong in self.patches:
                stack.enter_context(patch.object(owner, attribute, wrong))
            return self.inner.run(plan)

    async def arun(self, plan):
        return self.run(plan)

    def close(self):
        self.inner.close()


HELD_BY = ((claiming, "held_by"), (settling, "held_by"))


# --- the fence ------------------------------------------------------------------------------------


@mutant(*HELD_BY)
def no_fence(right):
    return lambda world, record, token: record.state is State.RUNNING


@mutant(*HELD_BY)
def the_attempt_alone_is_proof(right):
    def wrong(world, record, token):
        return right(world, record, record.token if record.attempt == token.attempt else token)

    return wrong


@mutant(*HELD_BY)
def the_clock_decides(right):
    def wrong(world, record, token):
        return (record.lease_until or 0) > world.clock() and right(world, record, token)

    return wrong


@mutant(
    (settling, "held_by"),
    found_by=lease_tests.test_a_holder_that_finished_before_anyone_claims_is_heard,
)
def a_lapsed_holder_that_finished_is_not_heard(right):
    return lambda world, r, token: r.state is State.RUNNING and right(world, r, token)


@mutant((settling, "_judge"))
def two_winners(right):
    def wrong(world, item, *rest):
        answer = right(world, item, *rest)
        late = answer.ruling is Ruling.LOST and answer.state in TERMINAL
        return msgspec.structs.replace(answer, ruling=Ruling.WON) if late else answer

    return wrong


@mutant((settling, "_judge"))
def the_winners_repeat_is_refused(right):
    def wrong(world, item, *rest):
        there = world.jobs.get(item.id)
        repeat = there is not None and there.last_outcome == item.outcome
        answer = right(world, item, *rest)
        return msgspec.structs.replace(answer, ruling=Ruling.LOST) if repeat else answer

    return wrong


@mutant((settling, "_judge"))
def a_second_thought_wins(right):
    def wrong(world, item, *rest):
        there = world.jobs.get(item.id)
        answer = right(world, item, *rest)
        same = there is not None and there.token == item.token
        return msgspec.structs.replace(answer, ruling=Ruling.WON) if same else answer

    return wrong


@mutant(
    (claiming, "_renew_one"), found_by=lease_tests.test_the_superseded_holder_is_told_so_on_renewal
)
def a_stale_renewal_is_accepted(right):
    def wrong(world, item, lease, now):
        there = world.jobs.get(item.id)
        if there is not None and there.state is State.RUNNING:
            item = msgspec.structs.replace(item, token=there.token)
        return right(world, item, lease, now)

    return wrong


@mutant((claiming, "_renew_one"))
def a_lost_lease_saves_its_progress(right):
    def wrong(world, item, lease, now):
        there = world.jobs.get(item.id)
        if there is not None and item.progress is not None:
            there.progress = item.progress
        return right(world, item, lease, now)

    return wrong


@mutant(
    (steering, "_redrive_one"),
    found_by=redriving_tests.test_the_attempt_number_goes_on_and_history_is_kept,
)
def a_redrive_starts_the_attempts_anew(right):
    def wrong(world, record, now):
        done = right(world, record, now)
        if done:
            record.attempt, record.past = 0, []
        return done

    return wrong


@mutant(
    (record.Record, "take_content"),
    found_by=unique_tests.test_who_ran_the_old_content_cannot_complete_the_new,
)
def who_ran_the_old_content_completes_the_new(right):
    def wrong(self, job, now):
        before = self.last_outcome
        right(self, job, now)
        self.last_outcome = before

    return wrong


# --- leases ---------------------------------------------------------------------------------------


@mutant((World, "lapsed"), found_by=lease_tests.test_a_lease_is_not_taken_back_early)
def leases_are_taken_back_early(right):
    return lambda self, queue, now: right(self, queue, now + SECOND)


@mutant((World, "lapsed"))
def leases_are_taken_back_late(right):
    return lambda self, queue, now: right(self, queue, now - 1)


@mutant((World, "lapse"))
def one_crash_too_many(right):
    def wrong(self, record):
        record.crash_limit += 1
        try:
            return right(self, record)
        finally:
            record.crash_limit -= 1

    return wrong


@mutant((World, "lapse"))
def a_lapsed_job_loses_its_place(right):
    def wrong(self, record):
        record.place = self.draw()
        return right(self, record)

    return wrong


@mutant((World, "lapse"))
def a_crash_is_a_failure(right):
    def wrong(self, record):
        record.failures += 1
        return right(self, record)

    return wrong


@mutant(
    (World, "lapse"),
    found_by=cancelling_tests.test_a_lapsed_lease_ends_as_cancelled_by_the_next_claim,
)
def who_was_asked_to_stop_runs_again_after_a_crash(right):
    def wrong(self, record):
        record.cancel_requested = False
        return right(self, record)

    return wrong


# --- attempts -------------------------------------------------------------------------------------


@mutant((settling, "_apply"), found_by=settling_tests.test_attempts_are_bounded, limit=2)
def one_attempt_too_many(right):
    def wrong(world, record, item):
        record.max_attempts += 1
        try:
            right(world, record, item)
        finally:
            record.max_attempts -= 1

    return wrong


@mutant((settling, "_apply"))
def a_release_uses_an_attempt(right):
    def wrong(world, record, item):
        record.failures += item.outcome is Outcome.RELEASE
        right(world, record, item)

    return wrong


@mutant(
    (settling, "_apply"),
    found_by=settling_tests.test_a_released_job_goes_back_to_its_place_and_has_used_up_nothing,
)
def a_release_goes_to_the_end_of_the_line(right):
    def wrong(world, record, item):
        if item.outcome is Outcome.RELEASE:
            record.place = world.draw()
        right(world, record, item)

    return wrong


@mutant(
    (settling, "_apply"),
    found_by=cancelling_tests.test_what_would_run_again_ends_as_cancelled,
    outcome=Outcome.RETRY,
    state=State.CANCELLED,
)
def who_was_asked_to_stop_is_tried_again(right):
    def wrong(world, record, item):
        record.cancel_requested = False
        right(world, record, item)

    return wrong


@mutant((World, "finish_attempt"))
def history_forgets_lapses(right):
    def wrong(self, record, outcome, error=None):
        right(self, record, outcome, error)
        if outcome == "lapse":
            record.past.pop()
            record.past.append(copy(record.past[-1])) if record.past else None

    return wrong


# --- order and time -------------------------------------------------------------------------------


@mutant((world, "rank"))
def last_come_first_served(right):
    return lambda record: (record.priority, -record.place, record.id)


@mutant((world, "rank"))
def priority_is_ignored(right):
    return lambda record: (0, record.place, record.id)


@mutant((record, "due_of"))
def delays_are_ignored(right):
    return lambda job, now: now


@mutant((World, "fall_due"), found_by=claiming_tests.test_a_delayed_job_does_not_start_early)
def due_jobs_come_a_moment_late(right):
    return lambda self, queue, now, limit: right(self, queue, now - 1, limit)


@mutant(
    (World, "expired"), found_by=claiming_tests.test_a_job_in_line_past_its_expiry_ends_as_expired
)
def nothing_expires_by_a_claim(right):
    return lambda self, queue, now: right(self, queue, now) if queue is None else []


@mutant((claiming, "_claim"))
def one_job_more_than_asked(right):
    return lambda world, request: right(
        world, msgspec.structs.replace(request, limit=request.limit + 1)
    )


@mutant((claiming, "_moments"))
def leases_are_no_reason_to_come_back(right):
    def wrong(world, queues):
        return [key[0] for queue in queues if (key := world.due[queue].first()) is not None]

    return wrong


# --- taking in ------------------------------------------------------------------------------------


@mutant((enqueueing, "take_in"))
def an_enqueue_is_lost(right):
    def wrong(world, jobs):
        answers = right(world, jobs)
        if len(jobs) == 3 and answers[-1].id == jobs[-1].id and jobs[-1].id in world.jobs:
            lost = world.jobs[jobs[-1].id]
            if lost.state is State.WAITING and lost.attempt == 0:
                world.remove(lost)
        return answers

    return wrong


@mutant((enqueueing._Intake, "undo"))
def half_a_refused_batch_stays(right):
    return lambda self: None


@mutant((enqueueing, "record_of"))
def payloads_are_stripped_of_zeros(right):
    def wrong(job, seq, now):
        return right(msgspec.structs.replace(job, payload=job.payload.rstrip(b"\x00")), seq, now)

    return wrong


# --- unique keys ----------------------------------------------------------------------------------


@mutant((Claimant, "taken"))
def keys_are_ignored(right):
    return lambda self, now: False


@mutant(
    (Claimant, "taken"),
    found_by=unique_tests.test_a_key_may_be_held_for_a_time_even_after_the_end,
    state=State.SUCCEEDED,
)
def the_time_of_a_key_is_ignored(right):
    return lambda self, now: self.live or self.successor is not None


@mutant(
    (Claimant, "taken"),
    found_by=following_tests.test_a_successor_is_not_forgotten_when_the_keys_time_has_passed,
)
def a_key_without_a_holder_forgets_its_successor(right):
    return lambda self, now: self.live or (self.hold_until is not None and self.hold_until > now)


@mutant((World, "move"))
def every_key_is_given_back_at_the_start(right):
    def wrong(self, record, change, state):
        right(self, record, change, state)
        if change is Change.CLAIM:
            self.let_key_go(record, self.clock())

    return wrong


@mutant(
    (World, "give_back_key"),
    found_by=following_tests.test_the_successor_is_freed_whatever_the_holder_ends_in,
    state=State.FAILED,
)
def the_successor_is_lost(right):
    return lambda self, record, now: self.let_key_go(record, now)


@mutant(
    (steering, "_key_free"), found_by=redriving_tests.test_a_job_whose_key_is_taken_is_left_alone
)
def a_redrive_takes_a_key_that_is_held(right):
    return lambda world, record: True


# --- rules ----------------------------------------------------------------------------------------


@mutant(
    (World, "closed"),
    found_by=rule_tests.test_a_closed_queue_gives_nothing_and_its_jobs_stay,
    rule=rule_tests.PAUSE,
)
def pauses_leak(right):
    return lambda self, queue, now: any(
        rule.target == queue and rule.kind is RuleKind.BLOCK for rule in self.rules.values()
    )


@mutant((World, "closed"), found_by=rule_tests.test_a_rule_ends_by_itself)
def rules_last_a_moment_too_long(right):
    return lambda self, queue, now: right(self, queue, now - 1)


@mutant(
    (steering, "_put_rules"), found_by=rule_tests.test_lifting_the_pause_does_not_lift_the_block
)
def lifting_a_pause_lifts_the_block(right):
    def wrong(world, request):
        answer = right(world, request)
        for key in request.lift:
            world.rules.pop(msgspec.structs.replace(key, kind=RuleKind.BLOCK), None)
        return answer

    return wrong


# --- ends and counts ------------------------------------------------------------------------------


@mutant((World, "remove"))
def counts_drift(right):
    def wrong(self, record):
        right(self, record)
        if record.state in TERMINAL:
            self.counts[record.queue, record.state] += 1

    return wrong


@mutant((World, "remove"))
def totals_shrink(right):
    def wrong(self, record):
        right(self, record)
        if record.state in TERMINAL:
            self.totals[record.queue, record.state] -= 1

    return wrong


@mutant(
    (World, "_keep"), found_by=retention_tests.test_a_job_with_nothing_to_keep_is_deleted_as_it_ends
)
def nothing_is_deleted_at_its_end(right):
    return lambda self, record: max(1, right(self, record))


@mutant(
    (housekeeping, "_prune"), found_by=retention_tests.test_an_ended_job_is_pruned_after_its_time
)
def jobs_are_pruned_early(right):
    def wrong(world, request):
        clock = world.clock
        world.clock = lambda: clock() + SECOND
        try:
            return right(world, request)
        finally:
            world.clock = clock

    return wrong


@mutant(
    (steering, "_redrive_one"),
    found_by=redriving_tests.test_a_failed_job_waits_again_with_fresh_counts,
)
def a_redrive_keeps_the_failures(right):
    def wrong(world, record, now):
        failures = record.failures
        done = right(world, record, now)
        record.failures = failures
        return done

    return wrong


# --- schedules, workers, looks --------------------------------------------------------------------


@mutant((scheduling, "_fire"), found_by=scheduling_tests.test_a_tick_is_won_once)
def a_tick_is_won_twice(right):
    def wrong(world, request):
        info = world.schedules.get(request.name)
        expected = request.expected if info is None else info.next_at
        return right(world, msgspec.structs.replace(request, expected=expected))

    return wrong


@mutant(
    (scheduling, "_put_one"),
    found_by=scheduling_tests.test_an_unchanged_schedule_keeps_its_next_tick,
)
def an_unchanged_schedule_starts_anew(right):
    def wrong(world, schedule, author):
        changed = right(world, schedule, author)
        info = world.schedules[schedule.name]
        world.schedules[schedule.name] = msgspec.structs.replace(info, next_at=None)
        return changed

    return wrong


@mutant(
    (housekeeping, "_order"),
    found_by=housekeeping_tests.test_a_worker_learns_the_newest_order_with_its_beat,
)
def orders_reach_nobody(right):
    def wrong(world, request):
        before = {name: presence.command for name, presence in world.workers.items()}
        answer = right(world, request)
        for name, command in before.items():
            world.workers[name].command = command
        return answer

    return wrong


@mutant((inspecting, "_find"), found_by=inspecting_tests.test_every_job_is_on_one_page, limit=3)
def a_page_skips_a_job(right):
    def wrong(world, request):
        page = right(world, request)
        whole = page.next is None or len(page.jobs) < 3
        return page if whole else msgspec.structs.replace(page, jobs=page.jobs[:-1])

    return wrong


@mutant((World, "end"), found_by=claiming_tests.test_a_job_in_line_past_its_expiry_ends_as_expired)
def an_end_gives_no_reason(right):
    def wrong(self, record, change, state, reason):
        return right(self, record, change, state, None if reason is Reason.EXPIRED else reason)

    return wrong


# --- what only the conformance suite looks at -----------------------------------------------------


@mutant((enqueueing, "record_of"), found_by=fidelity_tests.test_queues_are_told_apart_byte_for_byte)
def queues_are_told_apart_by_lower_case_letters(right):
    return lambda job, seq, now: right(
        msgspec.structs.replace(job, queue=job.queue.lower()), seq, now
    )


@mutant_driver(doorbell_tests.test_an_enqueue_rings_for_its_queues)
def the_doorbell_is_dumb(clock):
    return open_memory(clock=clock, doorbell=False)


@mutant_driver(concurrency_tests.test_one_job_wanted_by_all_goes_to_one)
def a_claim_is_not_one_step(clock):
    driver = open_memory(clock=clock, world=TornWorld(clock, DEFAULT_BOUNDS))
    return replace(driver, transport=UnlockedTransport())


class UnlockedTransport(MemoryTransport):
    """Lets everybody in at once."""

    def __init__(self):
        self._lock = nullcontext()


class TornWorld(World):
    """Gives others time between choosing a job and granting it, and does not look again."""

    def move(self, record, change, state):
        if change is Change.CLAIM:
            time.sleep(0.02)
        if record.state is not state:
            super().move(record, change, state)
