"""W9: what history, results, retries, keys, groups and steps cost, as a ratio to the plain drain."""

from benchmarks.workload import Entry, Ratio, Workload

WORKLOAD = Workload(
    id="W9",
    title="drain with more asked of it",
    jobs=60_000,
    entries={
        "plain": Entry("ours", "drain", fill="fill"),
        "history kept": Entry("ours", "drain", fill="fill_kept"),
        "results": Entry("ours", "drain", fill="fill_results"),
        "one retry each": Entry("ours", "drain", fill="fill_tries"),
        "unique keys": Entry("ours", "drain", fill="fill_unique"),
        "groups and limits": Entry("ours", "drain", fill="fill_groups"),
        "limits of groups too": Entry("ours", "drain", fill="fill_group_limits"),
        "pipelines": Entry("ours", "drain", fill="fill_pipelines", jobs=60_000),
    },
    ratios=(
        Ratio("W9 history kept, of W3", "history kept", "plain", at_least=0.7),
        Ratio("W9 results of 100 bytes kept, of W3", "results", "plain"),
        Ratio("W9 every job fails once, of W3", "one retry each", "plain"),
        Ratio("W9 a unique key each, of W3", "unique keys", "plain"),
        Ratio(
            "W9 concurrency, rate and 1,000 groups, of W3",
            "groups and limits",
            "plain",
            at_least=0.5,
        ),
        Ratio("W9 the same with limits of each group, of W3", "limits of groups too", "plain"),
        Ratio("W9 steps of pipelines, of history kept", "pipelines", "history kept", at_least=0.6),
    ),
)
