"""Flows in numbers, for tests of what they cost: pipelines that run side by side, and large joins."""

from itertools import count

from oxmill.model.claim import Claim
from oxmill.model.flow import FlowStep, NewFlow
from oxmill.model.info import Sweep
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.store.plan import together
from oxmill.testing.operations import plan_for

BATCH = 100
MINUTE = 60_000_000
_nonces = count(1_000)


def do(driver, request):
    return driver.run(plan_for(driver, request))


def job(job_id, **options):
    ordinary = {"queue": "flows", "task": "t", "payload": b"x" * 100}
    return NewJob(**(ordinary | options), id=job_id)


def claim(limit=BATCH):
    return Claim(queues=("flows",), limit=limit, lease=60 * MINUTE, worker="w", nonce=next(_nonces))


def start_pipelines(driver, number, first=0):
    """Flows that wait in their first step."""
    for each in range(first, first + number):
        flow = NewFlow(id=f"p{each}", name="p", state={"x0": b"x" * 90})
        step = job(f"p{each}.0", flow=flow.id, reads=("x0",))
        do(driver, Enqueue(jobs=(step,), flow=flow))


def steps(leases, *, last=False):
    """What ends these steps: each merges a field and hands over to the next, if there is one."""
    items = []
    for lease in leases:
        number = int(lease.id.rpartition(".")[2]) + 1
        name = f"x{number}"
        then = (job(f"{lease.flow}.{number}", flow=lease.flow, reads=(name,)),)
        step = FlowStep(merge={name: b"y" * 90}, then=() if last else then)
        end = {"id": lease.id, "token": lease.token, "outcome": Outcome.COMPLETE}
        items.append(Settlement(**end, flow=step))
    return Settle(items=tuple(items))


def turn(driver, settlements):
    """Settle these and claim as many, as workers do."""
    both = together(plan_for(driver, settlements), plan_for(driver, claim()))
    settled, claimed = driver.run(both)
    assert all(each.ruling == "won" for each in settled)
    return claimed.jobs


def prepare_join(driver, name, children):
    """A job waits for so many children, which wait in line."""
    flow = NewFlow(id=name, name="join")
    do(driver, Enqueue(jobs=(job(f"{name}.p", flow=name),), flow=flow))
    (parent,) = do(driver, claim(1)).jobs
    for first in range(0, children, 50):
        ids = [f"{name}.{number}" for number in range(first, min(children, first + 50))]
        jobs = tuple(job(each, flow=name, parent=parent.id) for each in ids)
        do(driver, Enqueue(jobs=jobs, flow=flow, stage=name))
    ended = Settlement(
        id=parent.id,
        token=parent.token,
        outcome=Outcome.COMPLETE,
        flow=FlowStep(publish=name, resume="go"),
    )
    do(driver, Settle(items=(ended,)))
    while do(driver, Sweep()).more:
        pass


def end_children(driver, children):
    """All children end, a batch at a time; then the parent has its turn."""
    leases = do(driver, claim()).jobs
    for _ in range(0, children, BATCH):
        ends = [
            Settlement(id=each.id, token=each.token, outcome=Outcome.COMPLETE) for each in leases
        ]
        leases = turn(driver, Settle(items=tuple(ends)))
    (parent,) = leases
    assert len(parent.joined) == children
    end = Settlement(id=parent.id, token=parent.token, outcome=Outcome.COMPLETE)
    do(driver, Settle(items=(end,)))
