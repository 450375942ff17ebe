"""`oxmill version`."""

from __future__ import annotations

import platform
import sqlite3
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import click

from oxmill.cli.framework import Command
from oxmill.cli.output import pairs, show_one
from oxmill.cli.session import Session

PACKAGES = ("msgspec", "click", "cronsim", "rich", "uvloop", "pydantic")


def versions() -> dict[str, str]:
    """What is in use here; packages that are not installed are left out."""
    known = {
        "oxmill": installed("oxmill"),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "sqlite": sqlite3.sqlite_version,
    }
    for package in PACKAGES:
        try:
            known[package] = installed(package)
        except PackageNotFoundError:
            continue
    return known


@click.command(cls=Command, examples=("oxmill version", "oxmill version -o json"))
@click.pass_obj
def command(session: Session) -> None:
    """Show the versions in use."""
    known = versions()
    show_one(known, lambda: pairs(known.items()), session.output)
