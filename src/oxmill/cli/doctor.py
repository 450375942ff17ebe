"""`oxmill doctor`: what is unsafe or stuck, each with its remedy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from oxmill.cli import records
from oxmill.cli.exits import Exit
from oxmill.cli.framework import Command
from oxmill.cli.health import Scene, problems
from oxmill.cli.output import show_one, tint
from oxmill.cli.session import Session
from oxmill.cli.status import look
from oxmill.cli.times import here
from oxmill.cli.version import versions
from oxmill.model.info import Finding, Level, Schema
from oxmill.store.roles.installing import Check, Version


@click.command(cls=Command, examples=("oxmill doctor", "oxmill doctor --strict -o json"))
@click.option("--strict", is_flag=True, help="Exit 1 on warnings too.")
@click.pass_obj
def command(session: Session, *, strict: bool) -> int:
    """Find what is unsafe or stuck, each with its remedy.

    Exits 1 if something must be mended before the store can be trusted.
    """
    installing = session.opened.installing
    schema = session.run(installing.version(Version()))
    findings = [*session.run(installing.check(Check(deep=True)))]
    if schema.current == schema.newest:
        findings += problems(look(session)._replace(here=here()))
    else:
        findings += problems(Scene(now=here(), schema=schema))
    known = versions()
    record = {
        "store": session.opened.url,
        "schema": {"current": schema.current, "newest": schema.newest},
        "versions": known,
        "findings": [records.finding(one) for one in findings],
    }
    show_one(record, lambda: _report(session, schema, known, findings), session.output)
    return verdict(findings, strict=strict)


def verdict(findings: Iterable[Finding], *, strict: bool = False) -> Exit:
    """Whether something has to be mended."""
    bad = {Level.REFUSE, Level.WARN} if strict else {Level.REFUSE}
    return Exit.FAILED if any(one.level in bad for one in findings) else Exit.OK


def _report(
    session: Session, schema: Schema, known: dict[str, str], findings: Sequence[Finding]
) -> str:
    words = ("oxmill", "python", "sqlite")
    lines = [
        f"store   {session.opened.url} (schema {schema.current} of {schema.newest})",
        "using   " + ", ".join(f"{name} {known[name]}" for name in words if name in known),
        "",
    ]
    return "\n".join([*lines, *told(findings)])


def told(findings: Sequence[Finding]) -> list[str]:
    """Findings for people, the worst first."""
    if not findings:
        return ["nothing to mend"]
    lines = []
    for level in Level:
        for one in findings:
            if one.level is level:
                mark = f"{tint(level)}{' ' * (8 - len(level))}"
                lines.append(f"{mark}{one.name}: {one.found}; wanted: {one.wanted}")
                lines.append(f"        {one.risk}")
                lines.append(f"        try: {one.remedy}")
    return lines
