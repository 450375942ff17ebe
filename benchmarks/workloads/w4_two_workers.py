"""W4: two worker processes beside one, both by the same clock: first start to empty store."""

from benchmarks.workload import Entry, Ratio, Workload

WORKLOAD = Workload(
    id="W4",
    title="drain with two worker processes",
    jobs=60_000,
    entries={
        "one": Entry("ours", "race"),
        "two": Entry("ours", "race", workers=2),
    },
    ratios=(
        Ratio(
            "W4 over W3",
            "two",
            "one",
            at_least={"redis": 1.5, "postgres": 1.3, "mariadb": 1.3},
        ),
    ),
)
