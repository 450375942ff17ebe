"""Tells systemd that the worker is ready, alive and stopping (`Type=notify`, `WatchdogSec=`)."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress


class Systemd:
    """Sends to `$NOTIFY_SOCKET`; without one it does nothing."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        microseconds = environ.get("WATCHDOG_USEC", "")
        self.alive_every = int(microseconds) / 2e6 if microseconds.isdigit() else None
        """Seconds between two signs of life, if systemd wants any."""

    def ready(self, status: str) -> None:
        """Claims are about to be made."""
        self._send(f"READY=1\nSTATUS={status}")

    def alive(self) -> None:
        """Claims make progress."""
        self._send("WATCHDOG=1")

    def stopping(self, status: str) -> None:
        """The worker stops."""
        self._send(f"STOPPING=1\nSTATUS={status}")

    def _send(self, text: str) -> None:
        if not self._address:
            return
        # systemd not listening is no reason to stop working.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
            link.sendto(text.encode(), self._address)
