"""Many claim and settle behind gates at once: limits hold exactly, and nothing gets stuck."""

from contextlib import closing

import pytest
from private_mysql import shared_server

from gate_storm import STORMS, weather
from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.knocking import Seen
from oxmill.drivers.mysql.manner import Manner
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.testing.operations import plan_for


@pytest.mark.parametrize("name", STORMS)
def test_limits_hold_and_nothing_is_stuck(name):
    url = shared_server().emptied()

    weather(lambda: open_mysql(url, doorbell=False), name, jobs=300)


def test_a_job_given_back_during_a_claim_goes_before_what_the_claim_has_seen(monkeypatch):
    """The claim read ahead who is next while the first job ran, and then asked how many run."""
    url = shared_server().emptied()
    with closing(open_mysql(url, doorbell=False)) as one, closing(open_mysql(url)) as other:
        ordered = QueueSettings(ordered_groups=True)
        do(other, PutSettings(queue="q", settings=ordered))
        do(other, Enqueue(jobs=tuple(job(name) for name in ("first", "second"))))
        (first,) = claimed(other, nonce=1)  # and does not see the next
        given_back = Settlement(id=first.id, token=first.token, outcome=Outcome.RELEASE)
        right, told = Seen.reply, []

        def reply(self, step):
            rows = right(self, step)
            if step.name == "running_of_groups" and not told:
                told.append(rows)
                do(other, Settle(items=(given_back,)))
            return rows

        monkeypatch.setattr(Seen, "reply", reply)
        # It knows that there are gates, and nothing else.
        monkeypatch.setattr(one.claiming, "_gated", {"q": Manner()})

        got = claimed(one, nonce=2)

        assert told == [None]
        assert [lease.id for lease in got] == ["first"]


def do(driver, request):
    return driver.run(plan_for(driver, request))


def job(name):
    return NewJob(id=name, queue="q", task="t", payload=b"", group="g")


def claimed(driver, *, nonce):
    return do(driver, Claim(queues=("q",), limit=1, lease=60_000_000, worker="w", nonce=nonce)).jobs
