"""W1 and W1c: one enqueue at a time, and 100 async callers at once."""

from benchmarks.workload import Entry, Ratio, Workload

WORKLOAD = Workload(
    id="W1",
    title="enqueue one at a time",
    jobs=3_000,
    entries={
        "ours": Entry("oxmill_sqlite", "enqueue_one"),
        "raw": Entry("raw_sqlite", "enqueue_one"),
        "bare": Entry("bare_sqlite", "enqueue_one"),
        "ours async": Entry("oxmill_sqlite", "enqueue_one_async"),
        "ours, 100 callers": Entry("oxmill_sqlite", "enqueue_concurrent", jobs=20_000),
    },
    ratios=(
        Ratio("W1 sync, of the raw client call", "ours", "raw", at_least=0.85),
        Ratio("W1 sync, of a bare table", "ours", "bare"),
        Ratio("W1c, over W1 sync", "ours, 100 callers", "ours", at_least=8),
    ),
)
