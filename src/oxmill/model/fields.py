"""Business attributes that jobs and flows are looked up by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Scalar = str | int
FieldValue = Scalar | tuple[Scalar, ...]
Fields = Mapping[str, FieldValue]
"""As they are kept."""


def as_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as they are kept, of fields as people write them."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }


def values_of(value: FieldValue) -> tuple[Scalar, ...]:
    """What a field is found by: its value, or each of its values."""
    return value if isinstance(value, tuple) else (value,)


def pairs_of(fields: Fields) -> list[tuple[str, Scalar]]:
    """All that a job or a flow is found by, as (name, value), each once."""
    every = ((name, each) for name, value in fields.items() for each in values_of(value))
    return list(dict.fromkeys(every))


def targets_of(fields: Fields) -> list[str]:
    """What rules on fields may name, in the order in which they are looked at."""
    return sorted({f"{name}={value}" for name, value in pairs_of(fields)})
