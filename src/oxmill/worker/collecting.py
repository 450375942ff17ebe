"""How often the interpreter looks for circles of objects while a worker runs."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Final

_PER_SLOT: Final = 25
"""About twice the objects that one run is made of."""


@contextlib.contextmanager
def seldom_collected(slots: int) -> Iterator[None]:
    """Young objects are looked through when there are more new ones than full slots bring.

    By default that is after 700, so with hundreds of slots every claim sets off several searches through
    runs that have just begun, where there is nothing to find. A bound that the process has set higher, or 0,
    which means never, stays.
    """
    young, *older = gc.get_threshold()
    if not young or young >= (wanted := _PER_SLOT * slots):
        yield
        return
    gc.set_threshold(wanted, *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)
