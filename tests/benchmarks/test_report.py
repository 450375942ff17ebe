"""Medians, ratios and bounds come out as they were measured, misses included."""

import pytest
from benchmarks.publish import pivot, promises
from benchmarks.report import Run, table
from benchmarks.workload import Bound, Entry, Ratio, Workload

WORKLOAD = Workload(
    id="W0",
    title="test",
    jobs=10,
    entries={"ours": Entry("ours", "x"), "raw": Entry("raw", "x")},
    ratios=(
        Ratio("of raw", "ours", "raw", at_least={"sqlite": 0.5}),
        Ratio("over the best", "ours", ("a", "b")),
    ),
    bounds=(Bound("p50", "ours", "p50_ms", at_most=5),),
)


def run(**figures):
    return Run(WORKLOAD, "sqlite", figures)


def test_a_ratio_is_taken_run_by_run():
    (row,) = run(ours={"rate": [10, 90, 50]}, raw={"rate": [100, 100, 100]}).rows()
    assert row.value == pytest.approx(0.5)
    assert row.met
    assert row.runs == 3


def test_a_miss_is_a_miss():
    found = run(ours={"rate": [10], "p50_ms": [6]}, raw={"rate": [100]})
    assert [row.met for row in found.rows()] == [False, False]
    assert table([found]).count("**no**") == 2


def test_a_bound_of_another_store_does_not_count_here():
    other = Run(WORKLOAD, "redis", {"ours": {"rate": [1]}, "raw": {"rate": [100]}})
    (row,) = other.rows()
    assert row.wanted == "report"


def test_the_best_of_several_rivals_counts():
    found = run(ours={"rate": [100]}, a={"rate": [10]}, b={"rate": [50]})
    (row,) = found.rows()
    assert row.value == pytest.approx(2)


def test_what_was_not_measured_has_no_row():
    assert run(ours={"rate": [1]}).rows() == []


def test_a_failure_is_shown():
    found = run()
    found.errors["raw"] = "it broke"
    assert "failed: it broke" in table([found])


def test_the_pivot_leaves_a_gap_where_nothing_was_measured():
    runs = [
        {"workload": "W3", "figures": {"ours": {"rate": [1_000]}, "peer": {"rate": [10]}}},
        {"workload": "W5", "figures": {"ours": {"p50_ms": [1], "p99_ms": [2]}}},
    ]
    lines = pivot(runs, {"peer": {"loses": "everything"}})
    assert lines[2].startswith("| **Oxmill** | 1,000 | 1 | 2 |")
    assert lines[3] == "| peer | 10 |  |  | everything |"


def test_promises_are_told_with_what_was_found():
    row = {"store": "redis", "title": "W3", "value": 0.25, "wanted": "≥ 0.35", "met": False}
    lines = promises([{"rows": [{**row, "runs": 3}]}])
    assert lines[-1] == "| Redis | W3 | 0.25 | ≥ 0.35 | **no** | 3 |"
