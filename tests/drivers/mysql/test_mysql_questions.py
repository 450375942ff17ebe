"""People may ask in SQL: through the view, and by columns of their own."""

import json

from private_mysql import shared_server

from oxmill.drivers.mysql.driver import open_mysql
from oxmill.model.claim import Claim
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settlement import Failure, Outcome, Settle, Settlement
from oxmill.store.roles.installing import ExtraColumn, Migrate
from oxmill.testing.operations import plan_for

OWN_COLUMNS = (ExtraColumn(name="user_id", type="integer"), ExtraColumn(name="tenant"))


def job(job_id, **options):
    return NewJob(
        **({"queue": "mail", "task": "send", "payload": b'{"to": "me"}'} | options), id=job_id
    )


def test_the_view_shows_what_happened_to_jobs():
    url = shared_server().database()
    name = url.rpartition("/")[2]
    driver = open_mysql(url)
    try:
        do = lambda request: driver.run(plan_for(driver, request))  # noqa: E731 - said once
        first = job("a", fields={"user_id": 62}, tags=("x",))
        do(Enqueue(jobs=(first, job("b", payload=b"\xff", content_type="application/pdf"))))
        asked = Claim(queues=("mail",), limit=1, lease=60_000_000, worker="w", nonce=1)
        (lease,) = do(asked).jobs
        error = Failure(type="ValueError", message="no such user", traceback="")
        failed = Settlement(id="a", token=lease.token, outcome=Outcome.FAIL, error=error)
        do(Settle(items=(failed,)))
    finally:
        driver.close()

    (row,) = shared_server().ask(
        "SELECT queue, state, payload, fields, tags, error_message, "
        "ended BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE AND UTC_TIMESTAMP(6) "
        "FROM oxmill_job_view WHERE id = 'a'",
        name,
    )
    assert row[:3] == ("mail", "failed", '{"to": "me"}')
    assert (json.loads(row[3]), json.loads(row[4])) == ({"user_id": 62}, ["x"])
    assert row[5:] == ("no such user", 1)
    (other,) = shared_server().ask(
        "SELECT payload, content_type, ended FROM oxmill_job_view WHERE id = 'b'", name
    )
    assert other == (None, "application/pdf", None)


def test_a_field_may_have_a_column_of_its_own():
    """Filled for jobs that are there and for those to come; nothing of ours minds."""
    url = shared_server().database()
    name = url.rpartition("/")[2]
    driver = open_mysql(url)
    try:
        do = lambda request: driver.run(plan_for(driver, request))  # noqa: E731 - said once
        do(Enqueue(jobs=(job("old", fields={"user_id": 62, "tenant": "ü"}),)))
        do(Migrate(extra_columns=OWN_COLUMNS))
        odd = job("odd", fields={"user_id": "62", "tenant": 5})
        do(Enqueue(jobs=(job("new", fields={"user_id": 62}), job("other"), odd)))
        claimed = do(Claim(queues=("mail",), limit=9, lease=60_000_000, worker="w", nonce=1)).jobs
        assert len(claimed) == 4
    finally:
        driver.close()

    asked = "SELECT id FROM oxmill_jobs WHERE user_id = 62 ORDER BY seq"
    assert shared_server().ask(asked, name) == ((b"old",), (b"new",))
    tenants = shared_server().ask("SELECT tenant FROM oxmill_jobs ORDER BY seq", name)
    assert tenants == (("ü",), (None,), (None,), (None,))
    ((*_, key),) = [row[:6] for row in shared_server().ask(f"EXPLAIN {asked}", name)]
    assert key == "oxmill_jobs_user_id"
