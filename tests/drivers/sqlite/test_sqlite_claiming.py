"""A claim over many lines takes the best of all, however they are spread."""

from hypothesis import given
from hypothesis import strategies as st

from oxmill.drivers.sql.claiming import _best
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob


def merged(lines, limit):
    """What the plan chooses, and how many rows it had read for it."""
    plan = _best(list(lines), 0, limit)
    read = 0
    reply = None
    while True:
        try:
            step = plan.send(reply)
        except StopIteration as end:
            return end.value, read
        reply = lines[step.parameters["queue"]][: step.parameters["most"]]
        read += len(reply)


@given(
    ranks=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(-3, 3)), max_size=60),
    limit=st.integers(1, 20),
)
def test_the_best_of_all_lines_are_chosen(ranks, limit):
    lines = {queue: [] for queue in "abcd"}
    for seq, (queue, priority) in enumerate(ranks):
        lines[queue].append((priority, seq, seq))
    for line in lines.values():
        line.sort()
    everything = sorted(row for line in lines.values() for row in line)

    chosen, _ = merged(lines, limit)

    assert chosen == [seq for _, _, seq in everything[:limit]]


def test_little_more_is_read_than_is_chosen():
    lines = {
        f"q{queue}": [(0, 20 * n + queue, 20 * n + queue) for n in range(200)]
        for queue in range(20)
    }

    chosen, read = merged(lines, 100)

    assert chosen == list(range(100))
    assert read < 300


def test_one_full_line_among_many_is_used_to_the_end(store):
    queues = tuple(f"q{number}" for number in range(12))
    jobs = tuple(
        NewJob(id=f"job-{n}", queue="q3" if n % 50 else "q7", task="t", payload=b"{}")
        for n in range(100)
    )
    store.driver.run(store.driver.enqueueing.enqueue(Enqueue(jobs=jobs)))
    claim = Claim(queues=queues, limit=90, lease=60_000_000, worker="w", nonce=1)

    granted = store.driver.run(store.driver.claiming.claim(claim)).jobs

    assert [job.id for job in granted] == [f"job-{n}" for n in range(90)]
