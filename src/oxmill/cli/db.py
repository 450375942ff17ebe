"""`oxmill db`: the store's own structures."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any, NamedTuple

import click
from msgspec.structs import asdict

from oxmill.cli import records
from oxmill.cli.doctor import told, verdict
from oxmill.cli.framework import Group
from oxmill.cli.output import say, show_one
from oxmill.cli.session import Session
from oxmill.connect import kind_of
from oxmill.store.roles.installing import Check, ExtraColumn, Mend, Migrate, Version

command = Group("db", help="Migrate, check and print the schema of the store.")


class Migration(NamedTuple):
    """One numbered file."""

    number: int
    name: str
    text: str


@command.command(
    examples=("oxmill db migrate --plan", "oxmill db migrate --extra-column user_id:integer")
)
@click.option("--plan", "only_plan", is_flag=True, help="Only show what would be applied.")
@click.option(
    "--extra-column",
    "columns",
    multiple=True,
    metavar="NAME:TYPE",
    help="Have a column for a field, of type text or integer, where there is SQL.",
)
@click.pass_obj
def migrate(session: Session, *, only_plan: bool, columns: tuple[str, ...]) -> None:
    """Bring the schema of the store up to date. Applying it again changes nothing."""
    extra = tuple(extra_column(text) for text in columns)
    store = session.opened
    schema = session.run(store.installing.version(Version()))
    names = [one.name for one in migrations(store.name) if one.number > schema.current]
    if not only_plan:
        session.run(store.installing.migrate(Migrate(extra_columns=extra)))
    names += [f"extra column {column.name} ({column.type})" for column in extra]
    record = {"from": schema.current, "to": schema.newest, "applied": names, "plan": only_plan}
    verb = "would apply" if only_plan else "applied"
    show_one(
        record,
        lambda: "\n".join(f"{verb} {name}" for name in names) or "the schema is up to date",
        session.output,
    )


def extra_column(text: str) -> ExtraColumn:
    """A column as people write it: `user_id:integer`, or only its name for text."""
    name, _, kind = text.partition(":")
    if kind in ("", "text"):
        return ExtraColumn(name=name)
    if kind == "integer":
        return ExtraColumn(name=name, type="integer")
    raise click.BadParameter(f"{kind!r} is not a type of column; use text or integer")


@command.command(
    examples=("oxmill db check", "oxmill db check --repair", "oxmill db check -o json")
)
@click.option(
    "--repair",
    is_flag=True,
    help="First put back jobs that stand nowhere, and drop entries of jobs that are gone.",
)
@click.pass_obj
def check(session: Session, *, repair: bool) -> int:
    """Check the store's settings, place and content. Exits 1 if they are unsafe."""
    installing = (session.driver if repair else session.opened).installing
    mended = session.run(installing.mend(Mend())) if repair else None
    findings = session.run(installing.check(Check(deep=True)))
    record: dict[str, Any] = {"findings": [records.finding(one) for one in findings]}
    lines = told(findings)
    if mended is not None:
        record["mended"] = asdict(mended)
        back, gone = f"{mended.returned:,} jobs put back", f"{mended.dropped:,} entries dropped"
        lines = [f"{back}, {gone}, {mended.recounted:,} groups counted again", *lines]
    show_one(record, lambda: "\n".join(lines), session.output)
    return verdict(findings)


@command.command(examples=("oxmill db sql", "oxmill db sql --url sqlite:///oxmill.db > schema.sql"))
@click.pass_obj
def sql(session: Session) -> None:
    """Print the statements that make the schema, without touching the store."""
    kind = kind_of(session.store)
    found = list(migrations(kind))
    if not found:
        raise click.UsageError(
            f"a store of kind {kind} has no SQL schema to print; give --url with sqlite:///jobs.db, "
            f"postgresql:// or mysql://, which need not be there"
        )
    for one in found:
        say(one.name, tone="dim")
        click.echo(one.text)


def migrations(kind: str) -> Iterator[Migration]:
    """The migrations of one kind of store, in order."""
    folder = files("oxmill").joinpath("drivers", kind, "migrations")
    if not folder.is_dir():
        return
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        number, _, rest = file.name.partition("_")
        if number.isdigit() and rest.endswith(".sql"):
            name = file.name.removesuffix(".sql")
            yield Migration(int(number), name, file.read_text(encoding="utf-8"))
