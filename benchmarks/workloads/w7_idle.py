"""W7 and W8: what an idle worker costs, and what a waiting job costs."""

from benchmarks.workload import Bound, Entry, Workload

WORKLOAD = Workload(
    id="W7",
    title="idle worker, bytes per waiting job",
    jobs=50_000,
    entries={
        "idle": Entry("ours", "idle"),
        "bytes": Entry("ours", "bytes"),
    },
    bounds=(
        Bound("W7 idle CPU, % of a core", "idle", "cpu_percent", at_most=1),
        Bound("W7 idle RSS, MB", "idle", "rss_mb", at_most=45),
        Bound("W8 bytes per waiting job", "bytes", "bytes", at_most={"redis": 400}),
    ),
)
