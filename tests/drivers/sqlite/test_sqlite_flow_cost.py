"""What flows cost in SQLite, counted: statements, and steps of SQLite's own machine."""

import pytest

from flow_load import BATCH, claim, do, end_children, prepare_join, start_pipelines, steps, turn
from oxmill.drivers.sqlite.driver import open_sqlite

UNIT = 100
FEW, MANY = 1_000, 10_000


@pytest.fixture
def driver(tmp_path):
    driver = open_sqlite(tmp_path / "store.db", mode="volatile", doorbell=False)
    yield driver
    driver.close()


def connection_of(driver):
    return driver.transport._writer.committer.session.connection


def test_a_batch_of_steps_costs_three_rows_each_and_a_few_statements(driver):
    """Per step a field, in runs of several; the next jobs with their nodes are made by two statements, and
    the flows of last steps end by two."""
    start_pipelines(driver, 2 * BATCH)
    leases = do(driver, claim()).jobs
    statements = []
    connection_of(driver).set_trace_callback(statements.append)

    more = turn(driver, steps(leases))

    assert len(statements) <= 22
    statements.clear()
    turn(driver, steps(more, last=True))
    assert len(statements) <= 20


def test_a_large_join_is_linear(driver):
    """A child costs the same whether a thousand wait with it or ten thousand."""
    ticks = []
    units = {}
    for children in (FEW, MANY):
        prepare_join(driver, f"j{children}", children)
        ticks.clear()
        connection_of(driver).set_progress_handler(lambda: ticks.append(1), UNIT)
        end_children(driver, children)
        connection_of(driver).set_progress_handler(None, UNIT)
        units[children] = UNIT * len(ticks) / children
    assert units[MANY] <= 1.3 * units[FEW], units
