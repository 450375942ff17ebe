"""W5: from enqueue to start on an idle queue, the worker in another process."""

from benchmarks.workload import Bound, Entry, Workload

WORKLOAD = Workload(
    id="W5",
    title="latency on an idle queue, across processes",
    jobs=200,
    entries={"ours": Entry("ours", "latency")},
    bounds=(
        Bound("W5 p50, ms", "ours", "p50_ms", at_most={"sqlite": 5, "mariadb": 25}),
        Bound("W5 p99, ms", "ours", "p99_ms"),
    ),
)
