"""Whether values are of the types that their annotations say: what is not, some store would take and
could never read again."""

from __future__ import annotations

import msgspec
from msgspec.structs import asdict

from oxmill.errors import BadInput
from oxmill.model.value import Value


def check_kinds(value: Value, whose: str) -> None:
    """Refuse a value that holds something of a wrong type, or a value within it that does."""
    parts = asdict(value)
    for name, part in parts.items():
        if isinstance(part, Value):
            check_kinds(part, f"{whose}, {name}")
        elif name in _RAW and not (part is None or isinstance(part, bytes)):
            raise BadInput(f"{whose}: {name} must be bytes, not {type(part).__name__}")
    try:
        msgspec.convert(parts, type(value))
    except (msgspec.ValidationError, TypeError) as error:
        wrong = str(error).replace("$.", "").replace("`", "")
        raise BadInput(f"{whose} holds a value of a wrong type: {wrong}") from None


_RAW = frozenset({"payload", "result", "progress"})
"""Bytes, and neither text nor a view of something that may change."""
