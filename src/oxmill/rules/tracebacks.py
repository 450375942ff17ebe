"""Tracebacks as text, in the words of Python's own module.

A job that fails often fails at the same place, and to write a frame down takes reading its source
and parsing it for the marks below: many times what the run itself takes. So frames are remembered.
"""

from __future__ import annotations

import traceback
from types import CodeType, TracebackType
from typing import Final

MOST_FRAMES: Final = 50
"""The innermost ones are kept."""
_REMEMBERED: Final = 1_000
_HEAD: Final = "Traceback (most recent call last):\n"
_TOLD_OTHERWISE: Final = (SyntaxError, NameError, AttributeError, ImportError, BaseExceptionGroup)
"""Errors that say more than their text, such as what may have been meant."""


class Frames:
    """Texts of frames, by the place in the code that they were at. The text is that of the first
    time: if the file has changed since, the code that runs has not."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, int], tuple[CodeType, str]] = {}
        """Each with its code, whose number would else be given to other code."""

    def text(self, trace: TracebackType) -> str:
        """The outermost frame of this traceback."""
        code = trace.tb_frame.f_code
        place = id(code), trace.tb_lasti
        known = self._texts.get(place)
        if known is None:
            if len(self._texts) >= _REMEMBERED:
                self._texts.clear()
            known = code, "".join(traceback.format_tb(trace, limit=1))
            self._texts[place] = known
        return known[1]


_FRAMES: Final = Frames()


def traceback_text(error: BaseException, trace: TracebackType) -> str:
    """An error with this part of its traceback. May raise whatever the error's own methods do."""
    if _is_plain(error):
        frames = _parts(trace)
        if frames is not None:
            return "".join([_HEAD, *map(_FRAMES.text, frames), _last_line(error)])
    return "".join(traceback.format_exception(type(error), error, trace, limit=-MOST_FRAMES))


def _is_plain(error: BaseException) -> bool:
    """Whether it is told in one line below its frames, by its name and its text alone."""
    return (
        error.__cause__ is None
        and (error.__context__ is None or error.__suppress_context__)
        and not isinstance(error, _TOLD_OTHERWISE)
        and not hasattr(error, "__notes__")
    )


def _parts(trace: TracebackType) -> list[TracebackType] | None:
    """The traceback frame by frame; `None` if it may be one that Python would shorten."""
    parts: list[TracebackType] = []
    lines: set[tuple[int, int]] = set()
    part: TracebackType | None = trace
    while part is not None:
        parts.append(part)
        lines.add((id(part.tb_frame.f_code), part.tb_lineno))
        part = part.tb_next
    return parts if len(lines) == len(parts) <= MOST_FRAMES else None


def _last_line(error: BaseException) -> str:
    kind, text = type(error), str(error)
    name = kind.__qualname__
    if kind.__module__ not in ("__main__", "builtins"):
        name = f"{kind.__module__}.{name}"
    return f"{name}: {text}\n" if text else f"{name}\n"
