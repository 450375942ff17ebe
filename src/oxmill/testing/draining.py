"""Getting everything done, to see that nothing is stuck."""

from __future__ import annotations

from oxmill.model.claim import Claim
from oxmill.model.info import ListQueues, Prune, Sweep
from oxmill.model.rule import PutRules
from oxmill.model.settings import DAY
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.state import LIVE
from oxmill.testing.clock import VirtualClock
from oxmill.testing.dump import Do, all_jobs


def drain(do: Do, clock: VirtualClock) -> list[str]:
    """Lift all rules, let time pass, and complete whatever can be claimed; what is still live.

    Limits stay as they are: each time that something starts, more time passes.
    """
    # Rules on groups and others are told where a group is asked about, whichever it is.
    told = do(ListQueues(groups=("none",)))
    rules = (*(rule for queue in told.items for rule in queue.rules), *told.rules)
    do(PutRules(lift=tuple(rule.key for rule in rules), operator=True))
    for turn in range(1_000):
        clock.advance(2 * DAY)
        while turn == 0 and do(Prune()).more:
            pass  # what was staged and never published
        while do(Sweep()).more:
            pass
        names = tuple(queue.name for queue in do(ListQueues()).items)
        if not names:
            break
        claim = Claim(queues=names, limit=1_000, lease=DAY, worker="drain", nonce=-1 - turn)
        settlements = tuple(
            Settlement(id=job.id, token=job.token, outcome=Outcome.COMPLETE)
            for job in do(claim).jobs
        )
        if not settlements:
            break
        do(Settle(items=settlements))
    return [f"{job.id} is {job.state}" for job in all_jobs(do) if job.state in LIVE]
