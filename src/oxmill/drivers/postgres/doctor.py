"""Asks a server about itself."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from oxmill.drivers.postgres.findings import Mode, findings_of
from oxmill.drivers.postgres.migrating import schema_of
from oxmill.drivers.postgres.statements import statement
from oxmill.model.info import Finding, Level


def examine(
    connection: Connection[Any], schema: str, mode: Mode, *, deep: bool
) -> tuple[Finding, ...]:
    """Every finding, worst first. Writes nothing."""
    rows = connection.execute(statement(schema, "facts").sql.encode()).fetchall()
    facts = {name: value for name, value in rows if value is not None}
    findings = list(findings_of(facts, mode))
    there = schema_of(connection, schema)
    if there.current and there.pending:
        findings.append(
            Finding(
                level=Level.WARN,
                name="schema",
                found=f"version {there.current}",
                wanted=f"version {there.newest}",
                risk="new features do not work until the schema is brought up to date",
                remedy="oxmill db migrate",
            )
        )
    if deep and there.current:
        findings += _recount(connection, schema)
    order = list(Level)
    return tuple(sorted(findings, key=lambda finding: order.index(finding.level)))


def _recount(connection: Connection[Any], schema: str) -> list[Finding]:
    """Count the jobs, and compare with the counts that are kept."""
    wrong = connection.execute(statement(schema, "recount").sql.encode()).fetchall()
    return [
        Finding(
            level=Level.WARN,
            name="counts",
            found=f"{queue}: {kept} jobs {state} by the counts",
            wanted=f"{there} as counted",
            risk="what people read about this queue is wrong; jobs are not affected",
            remedy="report this as a fault of Oxmill, with what happened to the database before",
        )
        for queue, state, kept, there in wrong
    ]
