"""W2: bulk enqueue with ids returned."""

from benchmarks.workload import Entry, Ratio, Workload

WORKLOAD = Workload(
    id="W2",
    title="bulk enqueue",
    jobs=50_000,
    entries={
        "ours": Entry("ours", "enqueue_bulk"),
        "raw": Entry("raw", "enqueue_bulk"),
        "bare": Entry("bare", "enqueue_bulk"),
    },
    ratios=(
        Ratio(
            "W2, of raw bulk with ids returned",
            "ours",
            "raw",
            at_least={"sqlite": 0.45, "redis": 0.45, "postgres": 0.55, "mariadb": 0.55},
        ),
        Ratio("W2, of a bare table", "ours", "bare"),
    ),
)
