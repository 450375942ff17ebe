"""W9: what history, results, retries and unique keys cost, as a ratio to the plain drain."""

from benchmarks.workload import Entry, Ratio, Workload

WORKLOAD = Workload(
    id="W9",
    title="drain with more asked of it",
    jobs=20_000,
    entries={
        "plain": Entry("ours", "drain", fill="fill"),
        "history kept": Entry("ours", "drain", fill="fill_kept"),
        "results": Entry("ours", "drain", fill="fill_results"),
        "one retry each": Entry("ours", "drain", fill="fill_tries"),
        "unique keys": Entry("ours", "drain", fill="fill_unique"),
    },
    ratios=(
        Ratio("W9 history kept, of W3", "history kept", "plain", at_least=0.7),
        Ratio("W9 results of 100 bytes kept, of W3", "results", "plain"),
        Ratio("W9 every job fails once, of W3", "one retry each", "plain"),
        Ratio("W9 a unique key each, of W3", "unique keys", "plain"),
    ),
)
