"""W2: bulk enqueue with ids returned."""

from benchmarks.workload import Entry, Ratio, Workload

WORKLOAD = Workload(
    id="W2",
    title="bulk enqueue",
    jobs=50_000,
    entries={
        "ours": Entry("oxmill_sqlite", "enqueue_bulk"),
        "raw": Entry("raw_sqlite", "enqueue_bulk"),
        "bare": Entry("bare_sqlite", "enqueue_bulk"),
    },
    ratios=(
        Ratio("W2, of raw bulk with ids returned", "ours", "raw", at_least=0.45),
        Ratio("W2, of a bare table", "ours", "bare"),
    ),
)
