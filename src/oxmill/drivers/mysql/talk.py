"""What a session says to the server: batches of statements, each answered as a whole."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from oxmill.drivers.mysql.shortcut import Result

R = TypeVar("R")

Batch = list[bytes]
Talk = Generator[Batch, list[Result], R]
"""Batches to send, each answered by one result per statement."""
