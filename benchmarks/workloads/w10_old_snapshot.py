"""W10: claim+settle while another transaction holds an old snapshot for half a minute."""

from benchmarks.workload import Bound, Entry, Workload

WORKLOAD = Workload(
    id="W10",
    title="claim+settle under an old snapshot",
    jobs=600_000,
    stores=("postgres",),
    entries={"old snapshot": Entry("ours", "claim_settle_aged", fill="fill")},
    bounds=(
        Bound(
            "W10 the last 5 of 30 s under an old snapshot, of the 5 s before it",
            "old snapshot",
            "share",
            at_least={"postgres": 0.5},
        ),
    ),
)
