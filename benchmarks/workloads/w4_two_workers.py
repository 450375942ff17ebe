"""W4: two worker processes beside one, both by the same clock: first start to empty store. Once with jobs that do
nothing, where the machine has little left that a second worker could use, and once with jobs at work."""

from benchmarks.workload import Entry, Ratio, Workload

WANTED = {"redis": 1.5, "postgres": 1.3, "mariadb": 1.3}

WORKLOAD = Workload(
    id="W4",
    title="drain with two worker processes",
    jobs=200_000,
    entries={
        "one": Entry("ours", "race"),
        "two": Entry("ours", "race", workers=2),
        "one, at work": Entry("ours", "race", fill="fill_at_work", jobs=20_000),
        "two, at work": Entry("ours", "race", fill="fill_at_work", jobs=20_000, workers=2),
    },
    ratios=(
        Ratio("W4 over W3", "two", "one", at_least=WANTED),
        Ratio(
            "W4 over W3, jobs that take 0.2 ms of the processor",
            "two, at work",
            "one, at work",
            at_least=WANTED,
        ),
    ),
)
