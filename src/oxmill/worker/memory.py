"""How much memory this process holds."""

from __future__ import annotations

import os
from pathlib import Path

_STATM = Path("/proc/self/statm")


def resident() -> int:
    """Resident memory in bytes; on systems without /proc the most that was ever held, or 0."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return _peak()


def _peak() -> int:
    try:
        import resource  # noqa: PLC0415 - not there on Windows
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Kilobytes everywhere but on macOS.
    return peak if os.uname().sysname == "Darwin" else peak * 1024
