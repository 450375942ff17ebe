"""Fields as they are stored: a number and a text that looks like it are two values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

_NO_LIMIT: Final = 2**63 - 1


def stored(value: str | int | None) -> str | None:
    """A field's value, or a tag."""
    if value is None:
        return None
    return f"#{value}" if isinstance(value, int) else f"={value}"


def stored_rows(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows of (name, value, job)."""
    return [(name, stored(value), job) for name, value, job in rows]


def adapted(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a search, as this store has them: also, no limit is a large one."""
    new = dict(parameters)
    for name in ("field_value", "value"):
        if new.get(name) is not None:
            new[name] = stored(msgspec.json.decode(new[name]))
    if "tag" in new:
        new["tag"] = stored(new["tag"])
    if new.get("fields") is not None:
        wanted = msgspec.json.decode(new["fields"])
        pairs = [(name, stored(value)) for name, value in wanted.items()]
        new["fields"] = msgspec.json.encode(pairs).decode()
    if new.get("most", 0) < 0:
        new["most"] = _NO_LIMIT
    return new
