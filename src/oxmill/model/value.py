"""What all values share: frozen, compared by content, cheap to make by the hundred thousand."""

from __future__ import annotations

import msgspec

Micros = int
"""Microseconds: since the epoch for moments, or a length of time. The store's clock decides."""


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """A frozen value. It is made by keyword."""
