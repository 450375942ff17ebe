"""W1 and W1c: one enqueue at a time, and 100 async callers at once."""

from benchmarks.workload import Entry, Ratio, Workload

WORKLOAD = Workload(
    id="W1",
    title="enqueue one at a time",
    jobs=3_000,
    entries={
        "ours": Entry("ours", "enqueue_one"),
        "raw": Entry("raw", "enqueue_one"),
        "bare": Entry("bare", "enqueue_one"),
        "ours async": Entry("ours", "enqueue_async"),
        "ours, 100 callers": Entry("ours", "enqueue_concurrent", jobs=20_000),
    },
    ratios=(
        Ratio(
            "W1 sync, of the raw client call",
            "ours",
            "raw",
            at_least={"sqlite": 0.85, "redis": 0.85, "postgres": 0.80, "mariadb": 0.80},
        ),
        Ratio("W1 sync, of a bare table", "ours", "bare"),
        Ratio("W1 async, of W1 sync", "ours async", "ours"),
        Ratio(
            "W1c, over W1 sync",
            "ours, 100 callers",
            "ours",
            at_least={"sqlite": 8, "redis": 5, "postgres": 6, "mariadb": 5},
        ),
    ),
)
