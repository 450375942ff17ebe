"""Planted bugs about flows, in copies of the memory driver."""

from collections import deque

from mutants import MUTANTS, mutant

from oxmill.drivers.memory import (
    accounts,
    edges,
    flow_intake,
    housekeeping,
    redriving,
    retiring,
    ripples,
    settling,
    spawning,
    stages,
    world,
)
from oxmill.drivers.memory.flows import Book
from oxmill.model.flow import FlowStep
from oxmill.model.job import Reason
from oxmill.model.state import Change, State
from oxmill.testing.conformance import doorbell as doorbell_tests
from oxmill.testing.conformance import flowing as flowing_tests
from oxmill.testing.conformance import joining as joining_tests
from oxmill.testing.conformance import rippling as rippling_tests
from oxmill.testing.conformance import spawning as spawning_tests
from oxmill.testing.conformance import staging as staging_tests

__all__ = ["MUTANTS"]

# --- edges and joins ------------------------------------------------------------------------------


@mutant((ripples, "close"))
def an_edge_that_closes_counts_twice(right):
    def wrong(world, edge, *, ok):
        right(world, edge, ok=ok)
        right(world, edge, ok=ok)

    return wrong


@mutant((world, "ended"))
def a_cancelled_job_closes_no_edges(right):
    def wrong(world, record):
        if record.state is not State.CANCELLED:
            right(world, record)

    return wrong


@mutant(
    (ripples, "close"),
    found_by=joining_tests.test_a_job_in_the_middle_that_is_cancelled_fails_what_follows,
)
def every_end_is_a_success(right):
    return lambda world, edge, *, ok: right(world, edge, ok=True)


@mutant(
    (ripples, "_wanted"), found_by=joining_tests.test_what_somebody_else_waits_for_is_not_cancelled
)
def siblings_that_others_want_are_cancelled(right):
    return lambda world, upstream: False


@mutant((ripples, "_wanted"))
def siblings_run_on(right):
    return lambda world, upstream: True


@mutant((edges, "_standing"), found_by=joining_tests.test_a_job_that_is_not_there_counts_as_failed)
def who_is_not_there_is_waited_for(right):
    def wrong(world, record, upstream):
        return right(world, record, upstream) if upstream in world.jobs else None

    return wrong


@mutant(
    (edges, "_behind"),
    found_by=spawning_tests.test_a_child_that_waits_for_its_parent_counts_as_failed,
)
def two_may_wait_for_each_other(right):
    return lambda world, upstream, job_id: False


@mutant((edges, "begin"), (flow_intake, "begin"), (spawning, "begin"))
def deadlines_are_forgotten(right):
    def wrong(world, record, now):
        right(world, record, now)
        if record.wait is not None:
            record.wait.deadline_at = None

    return wrong


@mutant((edges, "fire"))
def a_join_never_fires(right):
    return lambda world, record: None


@mutant((edges, "fire"))
def a_join_fails_where_it_would_fire(right):
    def wrong(world, record):
        world.end(record, Change.FAIL, State.FAILED, Reason.DEPENDENCY)

    return wrong


@mutant((edges, "fire"))
def a_join_ends_its_job_where_it_would_fire(right):
    def wrong(world, record):
        world.end(record, Change.CANCEL, State.CANCELLED, Reason.CANCELLED)

    return wrong


@mutant((ripples, "close"))
def a_result_is_gone_once_it_was_told(right):
    def wrong(world, edge, *, ok):
        if edge.upstream in world.jobs:  # it may be purged
            world.jobs[edge.upstream].result = None
        right(world, edge, ok=ok)

    return wrong


# --- ripples --------------------------------------------------------------------------------------


@mutant(
    (settling, "ripple"), found_by=rippling_tests.test_many_dependents_are_freed_in_bounded_steps
)
def what_is_over_the_bound_is_dropped(right):
    def wrong(world):
        right(world)
        world.book.left.clear()

    return wrong


@mutant(
    (settling, "ripple"), found_by=rippling_tests.test_many_dependents_are_freed_in_bounded_steps
)
def a_settlement_has_no_bound(right):
    def wrong(world):
        right(world)
        ripples.sweep_ripples(world, 1_000_000)

    return wrong


@mutant(
    (redriving, "_in_its_flow"),
    found_by=rippling_tests.test_a_job_driven_again_before_all_learnt_of_its_end,
)
def the_past_haunts_a_redriven_job(right):
    def wrong(world, record, now):
        left = deque(world.book.left)
        right(world, record, now)
        world.book.left = left

    return wrong


@mutant(
    (settling, "ripple"),
    found_by=doorbell_tests.test_what_a_settlement_leaves_rings_for_a_sweeper,
)
def nobody_learns_what_is_left(right):
    def wrong(world):
        right(world)
        world.book.left_some = False

    return wrong


# --- spawning -------------------------------------------------------------------------------------


@mutant(
    (spawning, "_reuse"),
    found_by=spawning_tests.test_a_parent_that_is_driven_again_finds_its_children,
)
def failed_children_stay_failed(right):
    return lambda world, there: None


@mutant(
    (settling, "step"), found_by=spawning_tests.test_a_parent_goes_on_when_its_children_have_ended
)
def children_are_told_in_any_order(right):
    def wrong(world, record, done):
        right(world, record, done)
        record.joined = record.joined[::-1]

    return wrong


@mutant(
    (settling, "step"), found_by=spawning_tests.test_a_parent_goes_on_when_its_children_have_ended
)
def a_join_misses_its_last_child(right):
    def wrong(world, record, done):
        right(world, record, done)
        record.joined = record.joined[:-1]

    return wrong


@mutant((settling, "step"), found_by=spawning_tests.test_a_job_may_spawn_again)
def the_first_children_are_told_for_ever(right):
    def wrong(world, record, done):
        before = record.joined
        right(world, record, done)
        record.joined = before or record.joined

    return wrong


@mutant((settling, "step"))
def a_state_is_replaced_as_a_whole(right):
    def wrong(world, record, done):
        if record.flow is not None and done.merge:
            world.book.flows[record.flow].state.clear()
        right(world, record, done)

    return wrong


@mutant((settling, "step"), found_by=flowing_tests.test_a_step_sees_what_the_last_one_merged)
def fields_are_merged_with_the_next_step(right):
    def wrong(world, record, done):
        right(world, record, FlowStep(then=done.then, spawn=done.spawn, resume=done.resume))

    return wrong


# --- stages ---------------------------------------------------------------------------------------


@mutant((flow_intake, "hold"), found_by=staging_tests.test_staged_jobs_may_be_cancelled)
def a_stage_forgets_why_it_holds(right):
    def wrong(stage, record):
        right(stage, record)
        record.reason = None

    return wrong


@mutant((stages, "_come_along"), found_by=staging_tests.test_what_a_dead_attempt_staged_comes_along)
def what_was_staged_before_stays_behind(right):
    return lambda stage, other, there: None


@mutant(
    (retiring, "_drop_stage"),
    found_by=staging_tests.test_what_nobody_publishes_is_dropped_after_a_day,
)
def a_dropped_stage_can_be_published(right):
    return lambda world, stage: None


# --- flows ----------------------------------------------------------------------------------------


@mutant(
    (Book, "awaited"),
    found_by=flowing_tests.test_a_failure_that_was_dealt_with_does_not_fail_the_flow,
)
def any_failure_fails_the_flow(right):
    return lambda self, job_id: False


@mutant((accounts, "open_again"), (stages, "open_again"))
def an_ended_flow_stays_ended(right):
    return lambda flow: None


@mutant((accounts, "settle_accounts"), (stages, "settle_accounts"))
def flows_run_for_ever(right):
    return lambda world, flow: None


@mutant((redriving, "arm"), found_by=flowing_tests.test_a_redriven_job_takes_the_flow_up_again)
def a_redriven_job_does_not_wait(right):
    def wrong(world, record, upstreams, join, round_):
        right(world, record, (), join, round_)

    return wrong


@mutant((Book, "take_gained"), found_by=joining_tests.test_freed_jobs_ring_for_their_own_queue)
def nobody_rings_for_freed_jobs(right):
    return lambda self: ()


@mutant(
    (edges, "sheds"),
    (ripples, "sheds"),
    found_by=spawning_tests.test_a_cancelled_parent_takes_its_children_with_it,
)
def a_cancelled_parent_leaves_its_children(right):
    return lambda record: record.state is State.FAILED and right(record)


@mutant((housekeeping, "retire"), found_by=flowing_tests.test_jobs_are_kept_as_long_as_their_flow)
def flows_are_kept_for_ever(right):
    return lambda world, now, limit: (0, False)
