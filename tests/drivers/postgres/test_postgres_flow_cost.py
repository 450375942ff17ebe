"""What flows cost in PostgreSQL, counted: round trips, pages, and how every statement finds its rows."""

import pytest
from private_postgres import FAST, Server, schema_url
from test_postgres_plans import PLANS, nodes

from flow_load import BATCH, claim, do, end_children, prepare_join, start_pipelines, steps, turn
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.drivers.postgres.session import Query
from oxmill.drivers.postgres.wire import Wire

FEW, MANY = 1_000, 10_000
FLOWS, FAR = 100_000, 1_000_000
TABLES = {"jobs", "nodes", "flows", "flow_state", "edges"}

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def sent(monkeypatch):
    """The names of what was sent, one for each round trip."""
    names = []
    put = Wire.put

    def putting(self, several):
        match several:
            case [Query() as only]:
                names.append(only.text.name)
            case [_, _, *_]:
                names.append(f"{len(several)} queries")
        put(self, several)

    monkeypatch.setattr(Wire, "put", putting)
    return names


def test_steps_the_next_claim_and_what_it_reads_are_one_round_trip(postgres_server, sent):
    driver = open_postgres(schema_url(), doorbell=False)
    start_pipelines(driver, 2 * BATCH)
    leases = do(driver, claim()).jobs
    sent.clear()

    more = turn(driver, steps(leases))
    seconds = turn(driver, steps(more, last=True))

    assert sent == ["hand_over_and_claim"] * 2
    assert all(lease.flow_state == {"x0": b"x" * 90} for lease in more)
    assert all(lease.flow_state == {"x1": b"y" * 90} for lease in seconds)
    driver.close()


def test_a_step_that_cannot_be_read_does_not_spoil_what_others_read(postgres_server):
    url = schema_url()
    driver = open_postgres(url, doorbell=False)
    start_pipelines(driver, 3)
    (first,) = do(driver, claim(1)).jobs
    schema = url.rpartition("=")[2]
    postgres_server.ask(f"UPDATE {schema}.jobs SET extras = '{{\"flow' WHERE id = 'p1.0'")

    leases = turn(driver, steps([first], last=True))

    read = {lease.id: lease.flow_state for lease in leases}
    assert read.keys() == {"p1.0", "p2.0"}
    assert read["p2.0"] == {"x0": b"x" * 90}
    driver.close()


@pytest.fixture
def server():
    watching = {"shared_preload_libraries": "pg_stat_statements"}
    server = Server(**FAST, **watching, autovacuum="off").start()
    yield server
    server.stop()


def test_a_large_join_is_linear(server):
    """A child costs the same whether a thousand wait with it or ten thousand."""
    server.ask("CREATE EXTENSION pg_stat_statements")
    pages = {}
    for children in (FEW, MANY):
        driver = open_postgres(schema_url(server), doorbell=False)
        prepare_join(driver, "j", children)
        server.ask("SELECT pg_stat_statements_reset()")
        end_children(driver, children)
        ((read,),) = server.ask(
            "SELECT sum(shared_blks_hit + shared_blks_read) FROM pg_stat_statements"
        )
        pages[children] = float(read) / children
        driver.close()
    assert pages[MANY] <= 1.5 * pages[FEW], pages


def fill(server):
    """Many flows of three steps each, of which the last one waits."""
    with server.client() as client:
        client.execute(
            "INSERT INTO oxmill.flows (id, name, started_at, fields, published, live)"
            f" SELECT 'o' || n, 'p', 1, '{{}}', 1, 1 FROM generate_series(1, {FLOWS}) AS n"
        )
        client.execute(
            "INSERT INTO oxmill.jobs (seq, place, id, due_at, enqueued_at, priority, max_attempts,"
            " crash_limit, queue, task, state, payload, keep, extras, attempt)"
            f" SELECT {FAR} + 3 * n + k, {FAR} + 3 * n + k, 'o' || n || '.' || k, 1, 1, 9, 20, 3, 'flows', 't',"
            " CASE k WHEN 2 THEN 'waiting' ELSE 'succeeded' END, '', -1,"
            " json_build_object('flow', 'o' || n)::text, 0"
            f" FROM generate_series(1, {FLOWS}) AS n, generate_series(0, 2) AS k"
        )
        client.execute(
            "INSERT INTO oxmill.nodes (job, id, flow, staged, member_no, waiting, round, succeeded,"
            " failed, open) SELECT j.seq, j.id, split_part(j.id, '.', 1), 0, 0, 0, 0, 0, 0, 0"
            " FROM oxmill.jobs AS j WHERE j.seq > 1000000"
        )
        client.execute(
            "INSERT INTO oxmill.flow_state (flow, name, value)"
            f" SELECT 'o' || n, 'x' || k, 'y' FROM generate_series(1, {FLOWS}) AS n,"
            " generate_series(0, 2) AS k"
        )
        client.execute(
            "INSERT INTO oxmill.edges (dependent, round, position, upstream)"
            f" SELECT {FAR} + 3 * n + 2, 0, 0, 'o' || n || '.none' FROM generate_series(1, {FLOWS}) AS n"
        )
        client.execute(f"SELECT setval('oxmill.numbers', {2 * FAR})")


def check(plans):
    """Every table of flows is read through an index, and only as far as a batch needs."""
    looked = set()
    for message in plans:
        for node in nodes(message):
            table, kind = node.get("Relation Name"), node["Node Type"]
            if table not in TABLES or kind in {"ModifyTable", "LockRows"}:
                continue
            looked.add(table)
            loops = node.get("Actual Loops", 1)
            rows = (node.get("Actual Rows", 0) + node.get("Rows Removed by Filter", 0)) * loops
            assert kind in {"Index Scan", "Index Only Scan", "Tid Scan"}, (kind, node["Query"])
            assert rows <= 20 * BATCH, (rows, kind, node.get("Index Name"), node["Query"])
    return looked


def test_steps_go_by_indexes_however_many_flows_there_are(server):
    """Before the server has statistics about its tables, and after."""
    options = "%20".join(f"-c%20{name}={value}" for name, value in PLANS.items())
    driver = open_postgres(f"{server.url}?pool=1&options={options}", doorbell=False)
    start_pipelines(driver, 3 * BATCH)
    fill(server)
    plans = []
    link = driver.transport._pool.take()
    link.connection.add_notice_handler(lambda notice: plans.append(notice.message_primary))
    driver.transport._pool.give_back(link)
    looked = set()
    for statistics in (False, True):
        if statistics:
            server.ask("ANALYZE")
        leases = do(driver, claim()).jobs
        assert all(lease.id.startswith("p") for lease in leases)
        plans.clear()
        more = turn(driver, steps(leases))
        turn(driver, steps(more, last=True))
        looked |= check(plans)
    assert looked == TABLES
    driver.close()
