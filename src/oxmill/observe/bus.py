"""Tells whoever listens what happened, within the process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from oxmill.observe.events import Happening

Listener = Callable[[Any], None]

_LOG: Final = logging.getLogger("oxmill.observe")


class Bus:
    """Passes events on, in order, in the thread that emits them. Listeners must not block.

    A listener that raises is reported in the log and never harms the worker or other listeners.
    """

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: dict[type[Happening], tuple[Listener, ...]] = {}

    def subscribe(self, listener: Listener, *kinds: type[Happening]) -> Callable[[], None]:
        """Tell `listener` of these kinds of events. The answer takes it off again."""
        for kind in kinds:
            self._listeners[kind] = (*self._listeners.get(kind, ()), listener)

        def forget() -> None:
            for kind in kinds:
                others = tuple(each for each in self._listeners[kind] if each is not listener)
                self._listeners[kind] = others

        return forget

    def wants(self, kind: type[Happening]) -> bool:
        """Whether anybody listens to this kind: asked where making the event costs something."""
        return bool(self._listeners.get(kind))

    def emit(self, event: Happening) -> None:
        """Tell everybody who listens. Never raises."""
        for listener in self._listeners.get(type(event), ()):
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - watching must never harm what is watched
                _LOG.exception("a listener of %s raised", type(event).__name__)
