"""Planted bugs about lanes, gates, limits and rules."""

from functools import partial

import msgspec
from mutants import mutant

from oxmill.drivers.memory import claiming, gates, serving, settling
from oxmill.drivers.memory.gates import Gate
from oxmill.drivers.memory.lanes import Lane, Lanes
from oxmill.drivers.memory.serving import Serving
from oxmill.drivers.memory.world import World
from oxmill.model.query import Cancel
from oxmill.model.rule import Scope
from oxmill.model.settlement import Outcome
from oxmill.testing.conformance import gating as gating_tests
from oxmill.testing.conformance import grouping as grouping_tests
from oxmill.testing.conformance import limiting as limiting_tests
from oxmill.testing.conformance import metering as metering_tests
from oxmill.testing.conformance import ordering as ordering_tests
from oxmill.testing.conformance import scoping as scoping_tests

# --- lanes ----------------------------------------------------------------------------------------


@mutant((Lane, "next"))
def groups_are_served_by_name(right):
    return property(lambda self: (0, self.group is not None, self.group or ""))


@mutant((Lane, "next"), found_by=grouping_tests.test_jobs_without_a_group_take_turns_as_one)
def jobs_without_a_group_come_last(right):
    return property(lambda self: (self.group is None, self.turn))


@mutant((Serving, "_draw_turns"))
def turns_are_forgotten_between_claims(right):
    def wrong(self):
        right(self)
        for queue in self._gated:
            for lane in self._world.lanes.of(queue):
                lane.turn = 0

    return wrong


@mutant((Serving, "_served"))
def a_turn_never_ends(right):
    def wrong(self, record):
        lane = (
            self._world.lanes.at(record.queue, (record.priority, record.group))
            if record.queue in self._gated
            else None
        )
        turn = None if lane is None else lane.turn
        right(self, record)
        if lane is not None:
            lane.turn = turn

    return wrong


@mutant((serving, "settings_of"))
def weights_are_ignored(right):
    return lambda world, queue: msgspec.structs.replace(right(world, queue), group_weights={})


@mutant((serving, "settings_of"), found_by=grouping_tests.test_a_turn_goes_on_with_the_next_claim)
def a_turn_ends_with_its_claim(right):
    def wrong(world, queue):
        for lane in world.lanes.of(queue):
            lane.served = max(lane.served, 2)
        return right(world, queue)

    return wrong


@mutant((serving, "aged"))
def ageing_is_ignored(right):
    return lambda record, ageing, now: (record.priority, 0)


@mutant((Lanes, "leave"))
def a_lane_goes_with_its_last_job(right):
    def wrong(self, record):
        right(self, record)
        key = (record.priority, record.group)
        if self.at(record.queue, key) is not None and not self.ids(record.queue, key):
            self._make(record.queue, key, 1 << 59)

    return wrong


@mutant((Lanes, "of"), found_by=limiting_tests.test_a_full_group_does_not_hold_up_others)
def a_closed_lane_holds_up_the_next(right):
    return lambda self, queue: right(self, queue)[:1]


# --- limits ---------------------------------------------------------------------------------------


@mutant((gates, "running"))
def one_more_than_the_concurrency(right):
    return lambda world, queue, group=None: right(world, queue, group) - 1


@mutant((gates, "group_concurrency"), found_by=limiting_tests.test_both_limits_hold_at_once)
def groups_have_no_concurrency(right):
    return lambda settings: None


@mutant((serving, "queue_gates"), found_by=gating_tests.test_a_history_never_exceeds_a_concurrency)
def queues_have_no_gates(right):
    return lambda world, queue, now: iter(())


@mutant(
    (claiming, "may_run_again"),
    found_by=limiting_tests.test_a_holder_that_comes_back_too_late_is_refused_where_others_took_its_room,
)
def who_comes_back_late_needs_no_room(right):
    return lambda world, record: True


@mutant(
    (settling, "frees"),
    found_by=limiting_tests.test_every_settlement_frees_the_queue,
    outcome=Outcome.COMPLETE,
    details={},
)
def nobody_hears_of_freed_room(right):
    return lambda world, record: False


@mutant((claiming, "group_gates"), found_by=limiting_tests.test_named_jobs_keep_to_the_limits)
def named_jobs_pass_the_gates_of_their_group(right):
    return lambda world, queue, group, now: iter(())


# --- rates ----------------------------------------------------------------------------------------


@mutant((gates, "_metered"))
def a_rate_opens_a_moment_late(right):
    return lambda world, meter, written, now: right(world, meter, written, now - 1)


@mutant((gates, "_metered"), found_by=gating_tests.test_a_history_never_exceeds_a_rate)
def a_rate_lets_one_more_through(right):
    def wrong(world, meter, written, now):
        gate = right(world, meter, written, now)
        return Gate(gate.room + 1)

    return wrong


@mutant((serving, "spend"), found_by=metering_tests.test_a_rate_lets_the_next_job_start_in_time)
def starts_are_not_counted(right):
    return lambda world, record, now: None


@mutant((claiming, "spend"), found_by=metering_tests.test_named_jobs_keep_to_the_rate)
def named_starts_are_not_counted(right):
    return lambda world, record, now: None


@mutant((settling, "close"))
def nobody_is_rate_limited(right):
    return lambda world, queue, group, until, now: None


@mutant((settling, "close"), found_by=metering_tests.test_the_longer_closing_counts)
def the_last_closing_counts(right):
    def wrong(world, queue, group, until, now):
        world.closings[queue, group] = until

    return wrong


@mutant((settling, "close"), found_by=metering_tests.test_a_group_is_closed_in_its_queue_only)
def a_rate_limited_group_is_closed_everywhere(right):
    def wrong(world, queue, group, until, now):
        for each in {record.queue for record in world.jobs.values()}:
            right(world, each, group, until, now)

    return wrong


@mutant((Serving, "moments"))
def gates_are_no_reason_to_come_back(right):
    return lambda self: iter(())


# --- ordered groups -------------------------------------------------------------------------------


@mutant(
    (settling, "is_ordered"),
    found_by=partial(
        ordering_tests.test_a_job_tried_again_at_once_is_the_next, outcome=Outcome.RETRY
    ),
)
def a_retry_in_an_ordered_group_loses_its_place(right):
    return lambda world, record: False


@mutant(
    (World, "reopen"),
    found_by=partial(
        ordering_tests.test_a_group_opens_when_the_job_it_waits_for_leaves, steer=Cancel
    ),
)
def a_group_waits_for_a_job_that_is_gone(right):
    return lambda self, record: None


@mutant(
    (World, "reopen"),
    found_by=ordering_tests.test_a_group_that_others_have_shut_too_stays_shut,
)
def whoever_leaves_opens_its_group(right):
    def wrong(self, record):
        self.closings.pop((record.queue, record.group), None)

    return wrong


@mutant(
    (settling, "close"),
    found_by=ordering_tests.test_a_group_that_others_have_shut_too_stays_shut,
)
def the_last_of_those_who_shut_a_group_opens_it(right):
    def wrong(world, queue, group, until, now):
        world.closings[queue, group] = max(world.closings.get((queue, group), 0), until)

    return wrong


@mutant(
    (World, "rewrite"),
    found_by=ordering_tests.test_another_priority_alone_opens_nothing,
)
def another_priority_opens_a_group(right):
    def wrong(self, record, change):
        self.reopen(record)
        right(self, record, change)

    return wrong


@mutant(
    (serving, "is_ordered"),
    found_by=ordering_tests.test_a_job_behind_a_gate_of_its_own_holds_up_its_group_alone,
)
def an_ordered_group_passes_by_its_closed_head(right):
    return lambda world, record: False


@mutant(
    (claiming, "_is_first"),
    found_by=ordering_tests.test_only_the_first_of_an_ordered_group_is_given_by_name,
)
def any_job_of_an_ordered_group_is_given_by_name(right):
    return lambda world, record, now: True


# --- rules ----------------------------------------------------------------------------------------


def without(scope):
    """Rules of this scope are overlooked."""

    def plant(right):
        def wrong(world, key, now):
            return None if key.scope is scope else right(world, key, now)

        return wrong

    return plant


@mutant((gates, "rule_gate"))
def rules_on_groups_are_overlooked(right):
    return without(Scope.GROUP)(right)


@mutant((gates, "rule_gate"))
def rules_on_fields_are_overlooked(right):
    return without(Scope.FIELD)(right)


@mutant((World, "in_force"), found_by=scoping_tests.test_a_rule_ends_by_itself, scope=Scope.TASK)
def rules_on_tasks_never_end(right):
    return lambda self, key, now: self.rules.get(key)


@mutant((serving, "bring_back"))
def jobs_set_aside_are_forgotten(right):
    return lambda world, queue, now: None


@mutant(
    (World, "rewrite"),
    found_by=scoping_tests.test_a_job_set_aside_can_be_replaced_by_one_that_may_run,
)
def a_replaced_job_stays_aside(right):
    def wrong(self, record, change):
        gate = record.aside
        right(self, record, change)
        if gate is not None:
            self.put_aside(record, gate)

    return wrong


@mutant((World, "put_aside"))
def a_job_set_aside_loses_its_place(right):
    def wrong(self, record, gate):
        right(self, record, gate)
        record.place = self.draw()

    return wrong
