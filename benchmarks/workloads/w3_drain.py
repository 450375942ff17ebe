"""W3: one worker process drains no-op jobs, which are deleted at their end."""

from benchmarks.workload import Entry, Ratio, Workload

WORKLOAD = Workload(
    id="W3",
    title="drain with one worker process",
    jobs=40_000,
    entries={
        "ours": Entry("ours", "drain", fill="fill"),
        "raw": Entry("raw", "drain", fill="fill"),
        "bare": Entry("bare", "drain", fill="fill"),
        "ours, threads": Entry("ours", "drain", fill="fill_threads", jobs=20_000),
        "driver alone": Entry("ours", "claim_settle", fill="fill", backlog=40_100),
    },
    ratios=(
        Ratio(
            "W3, of raw claim+complete at batch 100",
            "ours",
            "raw",
            at_least={"sqlite": 0.28, "redis": 0.35, "postgres": 0.65, "mariadb": 0.60},
        ),
        Ratio("W3, of a bare table", "ours", "bare"),
        Ratio("driver alone (settle+claim of 100), of raw", "driver alone", "raw"),
        Ratio("plain functions in threads, of W3", "ours, threads", "ours"),
    ),
)
