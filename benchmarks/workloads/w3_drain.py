"""W3 and W9: one worker process drains no-op jobs; ended jobs deleted, or kept as by default."""

from benchmarks.workload import Entry, Ratio, Workload

WORKLOAD = Workload(
    id="W3",
    title="drain with one worker process",
    jobs=40_000,
    entries={
        "ours": Entry("oxmill_sqlite", "drain", fill="fill"),
        "raw": Entry("raw_sqlite", "drain", fill="fill"),
        "bare": Entry("bare_sqlite", "drain", fill="fill"),
        "ours, kept": Entry("oxmill_sqlite", "drain_kept", fill="fill_kept"),
        "ours, threads": Entry("oxmill_sqlite", "drain", fill="fill_threads", jobs=20_000),
        "driver alone": Entry("oxmill_sqlite", "claim_settle", fill="fill", backlog=40_100),
    },
    ratios=(
        Ratio("W3, of raw claim+complete at batch 100", "ours", "raw", at_least=0.28),
        Ratio("W3, of a bare table", "ours", "bare"),
        Ratio("W9 history kept, of W3", "ours, kept", "ours", at_least=0.7),
        Ratio("driver alone (settle+claim of 100), of raw", "driver alone", "raw"),
        Ratio("plain functions in threads, of W3", "ours, threads", "ours"),
    ),
)
