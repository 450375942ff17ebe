"""Conformance over several shards.

A job lives in one shard, with everything that its key, group or flow binds it to. So the contract
holds as it stands for jobs that share a shard. For jobs of different shards it holds but for what
relates them: their order in line and in lists, and whether one step takes in a batch.
"""

from contextlib import contextmanager

from oxmill.drivers.redis import space
from oxmill.drivers.redis.driver import open_redis
from oxmill.store.roles.installing import Migrate
from oxmill.testing.clock import VirtualClock
from oxmill.testing.conformance.world import World
from oxmill.testing.operations import plan_for

SHARDS = 4
RELATING = {
    "test_cancelling_running_jobs_already_asked_do_not_stop_a_bounded_cancel",
    "test_claiming_a_queue_named_twice_counts_once",
    "test_claiming_an_edited_job_is_claimed_by_its_new_rank",
    "test_claiming_due_jobs_join_the_line_by_due_time_behind_what_waits",
    "test_claiming_first_come_first_served",
    "test_claiming_rank_counts_across_all_queues_named",
    "test_claiming_smaller_priorities_go_first",
    "test_counting_totals_count_every_end_and_survive_everything",
    "test_enqueueing_a_large_batch_keeps_its_order",
    "test_enqueueing_the_whole_range_of_priorities_is_kept_in_order",
    "test_fidelity_ids_are_told_apart_byte_for_byte",
    "test_fidelity_no_result_is_not_an_empty_result",
    "test_flowing_a_flow_with_a_taken_id_leaves_no_trace",
    "test_flowing_flows_come_page_by_page",
    "test_following_a_freed_successor_joins_the_end_of_the_line",
    "test_grouping_without_ageing_priority_alone_counts",
    "test_housekeeping_a_sweep_is_bounded_and_says_whether_more_is_left",
    "test_housekeeping_swept_jobs_line_up_by_due_time",
    "test_inspecting_each_attribute_can_be_asked_for",
    "test_inspecting_every_job_is_on_one_page",
    "test_inspecting_jobs_are_found_by_the_state_they_are_in_now",
    "test_inspecting_pages_of_a_filter_hold_only_what_matches",
    "test_inspecting_the_head_of_the_line_tells_how_long_it_waits",
    "test_inspecting_the_newest_arrival_comes_first",
    "test_leases_a_job_that_kills_its_workers_ends_as_poison",
    "test_leases_a_lapsed_job_keeps_its_place_in_line",
    "test_preparing_a_job_takes_its_place_among_others_and_is_counted",
    "test_retention_a_queue_may_keep_nothing",
    "test_retention_pruning_is_bounded_and_says_whether_more_is_left",
    "test_ruling_an_opened_queue_gives_all_that_waited",
    "test_scheduling_a_job_that_is_already_there_does_not_stop_the_tick",
    "test_settling_a_released_job_goes_back_to_its_place_and_has_used_up_nothing",
    "test_settling_settle_and_claim_travel_together",
    "test_spawning_a_taken_id_of_another_flow_counts_as_failed",
    "test_steering_a_purge_is_bounded_and_says_whether_more_is_left",
    "test_steering_a_waiting_job_that_is_to_run_now_keeps_its_place",
    "test_steering_idle_jobs_change_priority_in_their_place",
    "test_steering_what_went_wrong_is_recorded_too",
    "test_stepping_each_step_of_a_batch_does_its_own",
    "test_stepping_steps_of_one_flow_in_a_batch_all_count",
    "test_unique_one_batch_is_judged_job_by_job",
}
"""Tests of the suite that expect an order among jobs of different shards, or among settlements whose
shard has to be found first, or (the tick that meets jobs which are already there) a schedule that makes
jobs with the keys of others."""


@contextmanager
def opened(url, namespace, face, rings, *, shards=SHARDS):
    clock = VirtualClock()
    driver = open_redis(url, namespace=namespace, clock=clock, doorbell=rings, shards=shards)
    try:
        driver.run(plan_for(driver, Migrate()))
        yield World(driver, face, clock, rings)
    finally:
        driver.close()


def all_in_one(monkeypatch):
    """All jobs live in one shard, which is not the first; the others are there, and empty."""
    monkeypatch.setattr(space.zlib, "crc32", lambda word: 2)
