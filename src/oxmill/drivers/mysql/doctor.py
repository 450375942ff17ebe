"""What is unsafe about the server and its settings."""

from __future__ import annotations

from typing import Literal

from oxmill.drivers.mysql.link import Link
from oxmill.model.bounds import Bounds
from oxmill.model.info import Finding

Mode = Literal["durable", "process", "volatile"]


def examine(link: Link, mode: Mode, bounds: Bounds, *, deep: bool) -> tuple[Finding, ...]:
    """All findings."""
    return ()
