"""At any backlog every hot statement goes by an index and sorts nothing."""

import sqlite3
import time

import pytest

from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.drivers.sqlite.statements import statement_text
from oxmill.store.roles.installing import Migrate

BACKLOG = 100_000
NOW = 1_700_000_000_000_000

FILL = """
WITH RECURSIVE numbers (n) AS (
    SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :backlog
)
INSERT INTO jobs (
    seq, id, queue, task, state, priority, place, due_at, enqueued_at, expires_at, max_attempts,
    crash_limit, lease_until, prune_at, payload
)
SELECT
    n,
    printf('%032x', n),
    CASE n % 3 WHEN 0 THEN 'other' ELSE 'q' END,
    't',
    CASE
        WHEN n % 10 < 4 THEN 'waiting'
        WHEN n % 10 < 5 THEN 'scheduled'
        WHEN n % 10 < 6 THEN 'running'
        WHEN n % 10 < 7 THEN 'held'
        WHEN n % 10 < 8 THEN 'failed'
        ELSE 'succeeded'
    END,
    n % 5,
    n,
    :now + n,
    :now,
    CASE WHEN n % 20 = 0 THEN :now + n END,
    20,
    3,
    CASE WHEN n % 10 = 5 THEN :now + n END,
    CASE WHEN n % 10 >= 7 THEN :now + n END,
    x'7b7d'
FROM numbers
"""


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A database with a hundred thousand jobs."""
    path = tmp_path_factory.mktemp("full") / "store.db"
    driver = open_sqlite(path, mode="volatile")
    driver.run(driver.installing.migrate(Migrate()))
    driver.close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(FILL, {"backlog": BACKLOG, "now": NOW})
    connection.execute("INSERT INTO fields SELECT 'user', seq % 50, seq FROM jobs")
    yield connection
    connection.close()


EVERYTHING = {
    "queue": "q",
    "queues": '["q", "other"]',
    "ids": '["00000000000000000000000000000001"]',
    "seqs": "[1, 2, 3]",
    "jobs": "[1, 2, 3]",
    "keys": '[["k", "k", "k"]]',
    "state": "failed",
    "name": "user",
    "value": 7,
    "below": BACKLOG // 2,
    "now": NOW + 50,
    "most": 100,
    "before": NOW,
    "tolerance": 1,
    "lanes": '[["g", 0, -1]]',
    "groups": '["g"]',
    "targets": '[["task", "t"]]',
    "rows": '[["g", "q", 0]]',
}

STATEMENTS = {
    # statement: the indexes it must go by; () for none but keys of tables
    "horizon": ("jobs_due", "jobs_lease", "jobs_expiry"),
    "line_of_one": ("jobs_claim",),
    "line_heads": ("jobs_claim",),
    "leases_by_seq": (),
    "grant": (),
    "prolong": (),
    "standings_by_id": ("sqlite_autoindex_jobs_1",),
    "plain_leases": ("sqlite_autoindex_jobs_1",),
    "complete_jobs": (),
    "complete_job": (),
    "write_standing": (),
    "delete_jobs": (),
    "drop_attempts": (),
    "drop_fields": (),
    "due": ("jobs_due",),
    "lapsed": ("jobs_lease",),
    "expired": ("jobs_expiry",),
    "cut_leases": ("jobs_lease",),
    "prunable": ("jobs_prune",),
    "prune_keys": ("unique_keys_used_up",),
    "prune_events": ("events_age",),
    "heads_of": ("jobs_claim",),
    "window_all": (),
    "window_ended": ("jobs_ended",),
    "window_field": (),
    "jobs_by_id": ("sqlite_autoindex_jobs_1",),
    "settings_of": (),
    "keys_by_key": (),
    "lanes_open": ("lanes_open",),
    "lane_heads": ("jobs_lane",),
    "plain_heads": ("jobs_claim",),
    "lane_priorities": ("lanes_open",),
    "plain_lanes": ("jobs_claim",),
    "put_lanes": (),
    "drop_lanes": (),
    "join_lanes": (),
    "free_lanes": (),
    "open_lanes": ("lanes_parked",),
    "open_groups": (),
    "gates_of": ("lanes_open", "lanes_parked", "asides_open", "jobs_aside", "jobs_lease"),
    "lanes_and_heads": ("lanes_open", "jobs_lane", "jobs_claim", "jobs_running"),
    "change_flow": ("sqlite_autoindex_flows_1",),
    "end_flow": ("sqlite_autoindex_flows_1",),
    "leaving_flows": ("sqlite_autoindex_flows_1", "nodes_flow", "edges_below"),
    "turn_lanes": (),
    "park_lanes": (),
    "gates_ahead": ("lanes_open", "lanes_parked", "asides_open", "jobs_aside"),
    "running_of_groups": ("jobs_running",),
    "running_of_queues": ("jobs_lease",),
    "waiting_of_groups": ("jobs_lane",),
    "asides_open": ("asides_open",),
    "aside_heads": ("jobs_aside",),
    "set_aside": (),
    "meters_by_key": (),
    "spend_meters": (),
    "shut_gates": (),
    "reopen_gates": (),
    "prune_meters": ("meters_idle",),
    "rules_on": (),
    "rules_scoped": ("rules_scoped",),
}


def parameters(name):
    """Some value for every parameter of a statement."""
    text = statement_text(name)
    words = set(sqlite_words(text))
    return {word: EVERYTHING.get(word, 1) for word in words}


def sqlite_words(text):
    for part in text.split(":")[1:]:
        word = ""
        for character in part:
            if not (character.isalnum() or character == "_"):
                break
            word += character
        if word:
            yield word


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_hot_statement_goes_by_its_index(full, name):
    steps = [
        row[3]
        for row in full.execute(f"EXPLAIN QUERY PLAN {statement_text(name)}", parameters(name))
    ]

    assert [step for step in steps if "TEMP B-TREE" in step] == []
    assert [step for step in steps if step.startswith("SCAN") and not harmless(step)] == []
    for index in STATEMENTS[name]:
        assert any(index in step for step in steps), steps


def harmless(step):
    """Going through the parameter itself, or through a table in its own order up to a limit."""
    return (
        "VIRTUAL TABLE" in step
        or "asked" in step
        or step
        in {
            "SCAN json_each",
            "SCAN first",
            "SCAN found",
            "SCAN head",
            "SCAN (subquery-1)",
            "SCAN CONSTANT ROW",
        }
    )


def seconds(act):
    best = 10.0
    for _ in range(5):
        start = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - start)
    return best


@pytest.mark.parametrize("name", ["horizon", "line_of_one", "due", "lapsed", "expired", "prunable"])
def test_a_hot_statement_is_quick_at_a_large_backlog(full, name):
    text, asked = statement_text(name), parameters(name)

    assert seconds(lambda: full.execute(text, asked).fetchall()) < 0.02


def test_steering_by_queue_and_state_does_not_look_at_others(full):
    steps = [
        row[3]
        for row in full.execute(
            f"EXPLAIN QUERY PLAN {statement_text('match')}", parameters("match")
        )
    ]

    assert not any(
        step.startswith(("SCAN jobs", "SCAN j")) and "json" not in step for step in steps
    )
    for index in ("jobs_claim", "jobs_due", "jobs_lease", "jobs_held", "jobs_ended"):
        assert any(index in step for step in steps), index
