"""W6: W3 at a backlog of 1,000,000 against 10,000, and claim+settle alone there and with 100,000 jobs running."""

from benchmarks.ours import HELD
from benchmarks.workload import Entry, Ratio, Workload

JOBS = 40_000

WORKLOAD = Workload(
    id="W6",
    title="drain at a large backlog",
    jobs=JOBS,
    entries={
        "at 10,000": Entry("ours", "drain_part", fill="fill", backlog=10_000 + JOBS),
        "at 1,000,000": Entry("ours", "drain_part", fill="fill", backlog=1_000_000 + JOBS),
        "100,000 running": Entry("ours", "claim_settle_held", fill="fill", backlog=HELD + 10_000),
    },
    ratios=(
        Ratio(
            "W6, 1,000,000 against 10,000",
            "at 1,000,000",
            "at 10,000",
            at_least={"sqlite": 0.9, "redis": 0.9, "postgres": 0.9, "mariadb": 0.85},
        ),
        Ratio(
            "W6, claim+settle alone, 1,000,000 against 10,000",
            "at 1,000,000",
            "at 10,000",
            metric="alone",
            at_least={"sqlite": 1 / 1.3},
        ),
        Ratio(
            "W6, claim+settle alone, 100,000 running against none",
            "100,000 running",
            "at 10,000",
            metric="alone",
        ),
    ),
)
