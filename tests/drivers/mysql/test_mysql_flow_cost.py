"""What flows cost in MariaDB, counted: round trips, statements, and the rows that the server reads."""

import tempfile

import pytest
from private_mysql import MEMORY, QUICK, Server

from flow_load import BATCH, claim, do, end_children, prepare_join, start_pipelines, steps, turn
from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.link import Link
from oxmill.drivers.mysql.statements import statement, text_of

FEW, MANY = 1_000, 10_000
FLOWS, FAR = 100_000, 100_000_000

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def server():
    path = tempfile.mkdtemp(prefix="oxmill-mysql-flows-", dir=MEMORY)
    server = Server(path, *QUICK, "--innodb-buffer-pool-size=512M").start()
    yield server
    server.stop()


@pytest.fixture
def driver(server):
    driver = open_mysql(f"{server.database()}?timeout=60", doorbell=False)
    yield driver
    driver.close()


def reads(server, act):
    """The rows and index entries that the server reads meanwhile."""

    def status():
        rows = server.ask(
            "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Handler_read%' "
            "AND Variable_name NOT LIKE '%_deleted'"
        )
        return sum(int(value) for name, value in rows if "tmp" not in name.lower())

    first, second = status(), status()
    answer = act()
    return status() - second - (second - first), answer


def test_a_batch_of_steps_takes_a_few_round_trips_and_statements(driver, monkeypatch):
    start_pipelines(driver, 2 * BATCH)
    leases = do(driver, claim()).jobs
    sent = []
    send = Link.send
    monkeypatch.setattr(Link, "send", lambda link, batch: sent.append(batch) or send(link, batch))

    more = turn(driver, steps(leases))

    assert len(sent) <= 3
    assert sum(len(batch) for batch in sent) <= 29
    sent.clear()
    turn(driver, steps(more, last=True))
    assert len(sent) <= 4
    assert sum(len(batch) for batch in sent) <= 29


def test_a_large_join_is_linear(server):
    """A child costs the same whether a thousand wait with it or ten thousand."""
    each = {}
    for children in (FEW, MANY):
        driver = open_mysql(f"{server.database()}?timeout=60", doorbell=False)
        prepare_join(driver, "j", children)
        found, _ = reads(server, lambda: end_children(driver, children))  # noqa: B023 - run at once
        each[children] = found / children
        driver.close()
    assert each[MANY] <= 1.3 * each[FEW], each


def fill(server, name):
    """Many flows of three steps each, of which the last one waits behind all others."""
    steps_of = f"FROM seq_1_to_{FLOWS} AS n, seq_0_to_2 AS k"
    number = f"{FAR} + 3 * n.seq + k.seq"
    for text in (
        (
            "INSERT INTO oxmill_flows (id, name, started_at, fields, published, live)"
            f" SELECT CONCAT('o', seq), 'p', 1, '{{}}', 1, 1 FROM seq_1_to_{FLOWS}"
        ),
        (
            "INSERT INTO oxmill_jobs (seq, place, id, due_at, enqueued_at, priority, max_attempts,"
            " crash_limit, queue, task, state, payload, keep, attempt)"
            f" SELECT {number}, {number}, CONCAT('o', n.seq, '.', k.seq), 1, 1, 9, 20, 3, 'flows', 't',"
            f" IF(k.seq = 2, 'waiting', 'succeeded'), '', -1, 0 {steps_of}"
        ),
        (
            "INSERT INTO oxmill_nodes (job, id, flow, staged, member_no, waiting, `round`, succeeded,"
            f" failed, `open`) SELECT {number}, CONCAT('o', n.seq, '.', k.seq), CONCAT('o', n.seq),"
            f" 0, 0, 0, 0, 0, 0, 0 {steps_of}"
        ),
        (
            "INSERT INTO oxmill_flow_state (flow, name, value)"
            f" SELECT CONCAT('o', n.seq), CONCAT('x', k.seq), 'y' {steps_of}"
        ),
        (
            "INSERT INTO oxmill_edges (dependent, `round`, position, upstream)"
            f" SELECT {FAR} + 3 * seq + 2, 0, 0, CONCAT('o', seq, '.none') FROM seq_1_to_{FLOWS}"
        ),
    ):
        server.ask(text, name)


IDS = {"ids": '["o7.2", "o8.2"]'}
PLANS = {
    "step_leases": (IDS, "j", "oxmill_jobs_id"),
    "jobs_there": (IDS, "j", "oxmill_jobs_id"),
    "awaited": (IDS, "e", "oxmill_edges_below"),
    "state_fields": ({"ids": '["o7"]', "names": '["x0"]'}, "s", "PRIMARY"),
    "ending_flows": ({"ids": '["o7"]'}, "f", "oxmill_flows_id"),
    "complete_jobs": (
        {"seqs": f"[{FAR + 23}]", "now": 1, "prune_at": None},
        "oxmill_jobs",
        "PRIMARY",
    ),
}


def test_steps_read_only_what_they_change_however_many_flows_there_are(server, driver):
    name = driver.url.rpartition("/")[2]
    start_pipelines(driver, 3 * BATCH)
    fill(server, name)
    for statistics in (False, True):
        if statistics:
            server.ask("ANALYZE TABLE oxmill_jobs, oxmill_nodes, oxmill_flows", name)
            server.ask("ANALYZE TABLE oxmill_flow_state, oxmill_edges", name)
        leases = do(driver, claim()).jobs
        assert all(lease.id.startswith("p") for lease in leases)
        found, more = reads(server, lambda: turn(driver, steps(leases)))  # noqa: B023 - run at once
        assert found <= 30 * BATCH + 300
        found, _ = reads(
            server,
            lambda: turn(driver, steps(more, last=True)),  # noqa: B023 - run at once
        )
        assert found <= 40 * BATCH + 300
        for statement_name, (parameters, table, key) in PLANS.items():
            text = statement(statement_name, parameters).decode()
            rows = server.ask(f"EXPLAIN {text}", name)
            (ours,) = [row for row in rows if row[2] == table]
            assert ours[5] == key, (statement_name, rows)
            assert "filesort" not in str(rows), statement_name
        ids = ", ".join(f"'o{number}'" for number in range(5))
        for changing in ("change_flow", "end_flow"):
            text = b"1".join(text_of(changing).pieces[:-1]).decode() + ids + ")"
            ((*_, key),) = [row[:6] for row in server.ask(f"EXPLAIN {text}", name)]
            assert key == "oxmill_flows_id"
