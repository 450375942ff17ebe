"""Which bells an operation rings: those who may have gained something to do, and no others."""

import pytest

from oxmill.model.claim import Claim, Claimed
from oxmill.model.info import Command, Order, Ordered, Sweep, Swept
from oxmill.model.job import Enqueue, Enqueued, EnqueueOne, NewJob, Verdict
from oxmill.model.news import News
from oxmill.model.query import Cancel, Filter, Steered
from oxmill.model.rule import PutRules, RulesPut
from oxmill.model.schedule import Fire, Fired
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.model.token import Token
from oxmill.store.ringing import topics_after

JOB = NewJob(id="a", queue="q", task="t", payload=b"")
ENQUEUE = Enqueue(jobs=(JOB,))
ONE = EnqueueOne(like=JOB, id="b", payload=b"{}")
SETTLE = Settle(items=(Settlement(id="a", token=Token(1, 1), outcome=Outcome.COMPLETE),))
CLAIM = Claim(queues=("q",), limit=1, lease=1, worker="w", nonce=1)
FIRE = Fire(name="s", expected=None, next_at=None, jobs=(JOB,))


def enqueued(verdict, state):
    return (Enqueued(id="a", verdict=verdict, state=state),)


def settled(ruling, state):
    return (Settled(id="a", ruling=ruling, state=state, queue="q"),)


@pytest.mark.parametrize(
    ("answer", "topics"),
    [
        (enqueued(Verdict.CREATED, State.WAITING), {"work:q"}),
        (enqueued(Verdict.REPLACED, State.WAITING), {"work:q"}),
        (enqueued(Verdict.CREATED, State.SCHEDULED), set()),
        (enqueued(Verdict.CREATED, State.HELD), set()),
        (enqueued(Verdict.DUPLICATE, State.WAITING), set()),
        ((), set()),
    ],
)
def test_an_enqueue_rings_for_what_waits_now(answer, topics):
    assert topics_after(ENQUEUE, answer) == topics
    assert topics_after(ONE, answer) == topics
    assert topics_after(FIRE, Fired(won=True, answers=answer)) == topics


def test_a_lost_tick_rings_for_nobody():
    assert topics_after(FIRE, Fired(won=False)) == set()


@pytest.mark.parametrize(
    ("answer", "topics"),
    [
        (settled(Ruling.WON, State.SUCCEEDED), {"ended:a"}),
        (settled(Ruling.WON, State.FAILED), {"ended:a"}),
        (settled(Ruling.WON, State.CANCELLED), {"ended:a"}),
        (settled(Ruling.WON, State.WAITING), {"work:q"}),
        (settled(Ruling.WON, State.SCHEDULED), set()),
        (settled(Ruling.LOST, State.SUCCEEDED), set()),
        (settled(Ruling.GONE, None), set()),
    ],
)
def test_a_settlement_rings_for_an_end_or_for_more_work(answer, topics):
    assert topics_after(SETTLE, answer) == topics


@pytest.mark.parametrize(
    ("request_", "answer", "topics"),
    [
        (Sweep(), Swept(queues=("q",), ended=("a",)), {"work:q", "ended:a"}),
        (Sweep(), Swept(), set()),
        (PutRules(), RulesPut(changed=1, queues=("q",)), {"work:q"}),
        (PutSettings(queue="q", settings=QueueSettings()), None, {"work:q"}),
        (Cancel(filter=Filter()), Steered(ids=("a",)), {"ended:a"}),
        (Cancel(filter=Filter()), Steered(ids=(), asked=("a",)), {"control"}),
        (Cancel(filter=Filter()), Steered(ids=("a",), queues=("q",)), {"ended:a", "work:q"}),
        (Order(workers=("w",), command=Command.STOP), Ordered(workers=("w",)), {"control"}),
        (Cancel(filter=Filter()), Steered(ids=(), news=News(left=True)), {"sweep"}),
        (CLAIM, Claimed(jobs=(), now=1, until=2), set()),
        (
            CLAIM,
            Claimed(jobs=(), now=1, until=2, gained=("q",), news=News(ended=("a",), left=True)),
            {"work:q", "ended:a", "sweep"},
        ),
    ],
)
def test_other_operations_ring_for_what_they_changed(request_, answer, topics):
    assert topics_after(request_, answer) == topics


@pytest.mark.parametrize("ruling", [Ruling.WON, Ruling.LOST])
def test_a_settlement_rings_where_others_may_start(ruling):
    """The last answer tells what all of them have set off, even if it is lost itself."""
    answer = Settled(id="a", ruling=ruling, state=State.SCHEDULED, queue="q", gained=("r",))

    assert topics_after(SETTLE, (answer,)) == {"work:r"}


def test_two_operations_abreast_ring_for_both():
    answers = (settled(Ruling.WON, State.SUCCEEDED), Claimed(jobs=(), now=1, until=2))

    assert topics_after((SETTLE, CLAIM), answers) == {"ended:a"}
