"""W6: claim+settle at a backlog of 1,000,000 against 10,000."""

from benchmarks.workload import Entry, Ratio, Workload

WORKLOAD = Workload(
    id="W6",
    title="claim+settle at a large backlog",
    jobs=8_000,
    entries={
        "at 10,000": Entry("oxmill_sqlite", "claim_settle", fill="fill", backlog=10_000),
        "at 1,000,000": Entry("oxmill_sqlite", "claim_settle", fill="fill", backlog=1_000_000),
    },
    ratios=(Ratio("W6, 1,000,000 against 10,000", "at 1,000,000", "at 10,000", at_least=0.9),),
)
