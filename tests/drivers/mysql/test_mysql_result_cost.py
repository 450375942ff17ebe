"""What it takes to record results, by statements."""

import pytest
from private_mysql import shared_server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.link import Link
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.testing.operations import plan_for


@pytest.mark.parametrize(("size", "most"), [(10, 1), (200_000, 20)])
def test_results_of_a_batch_are_few_statements(monkeypatch, size, most):
    driver = open_mysql(shared_server().database(), doorbell=False)
    do = lambda request: driver.run(plan_for(driver, request))  # noqa: E731 - said once
    jobs = [NewJob(id=f"job-{n}", queue="q", task="t", payload=b"{}") for n in range(100)]
    do(Enqueue(jobs=tuple(jobs)))
    leases = do(Claim(queues=("q",), limit=100, lease=60_000_000, worker="w", nonce=1)).jobs
    items = [
        Settlement(id=j.id, token=j.token, outcome=Outcome.COMPLETE, result=b"r" * size)
        for j in leases
    ]
    sent = []
    send = Link.send
    monkeypatch.setattr(Link, "send", lambda link, batch: sent.extend(batch) or send(link, batch))

    do(Settle(items=tuple(items)))

    updates = [text for text in sent if text.startswith(b"UPDATE oxmill_jobs")]
    driver.close()
    assert 0 < len(updates) <= most
    assert max(map(len, updates)) < 2_000_000
