"""Other processes that listen: where their sockets are, and how to nudge them."""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import tempfile
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from oxmill.drivers.sqlite.roll import BYTES, UNKNOWN, Roll
from oxmill.store.doorbell import in_short

_LONGEST_PATH: Final = 100
"""Names of unix sockets are short on every system."""
_LONGEST_NUDGE: Final = 4_000


def meeting_place(database: Path) -> Path:
    """The folder where the processes of one user that use one database file meet."""
    # Not a secret, but it must be the same in every process.
    key = hashlib.sha256(os.fsencode(database.resolve())).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"oxmill-{os.geteuid()}-{key}"


def can_meet(folder: Path) -> bool:
    """Whether the folder is ours alone; it is made if it is not there."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError:
        return False
    ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
    return ours and not stat.S_IMODE(about.st_mode) & 0o077


class Ear:
    """The socket on which this process is nudged. Its name tells what it wants to hear of: the
    first letters of topics."""

    def __init__(self, folder: Path, letters: str, roll: Roll) -> None:
        self._roll = roll
        self._stem = folder / f"{os.getpid():x}-{os.urandom(4).hex()}"
        self._letters = letters
        if len(os.fsencode(self.path)) > _LONGEST_PATH:
            raise OSError(f"{self.path} is too long for the name of a socket")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self.socket.setblocking(False)
            self._bind(folder)
        except OSError:
            self.socket.close()
            raise

    def _bind(self, folder: Path) -> None:
        for last in (False, True):
            if not can_meet(folder):
                raise OSError(f"{folder} belongs to someone else or is open to others")
            try:
                self.socket.bind(os.fspath(self.path))
                self._roll.turn()
                return
            except FileNotFoundError:  # whoever left last has just removed the folder
                if last:
                    raise

    @property
    def path(self) -> Path:
        """Where others find it."""
        return self._stem.with_name(f"{self._stem.name}.{self._letters}")

    def wants(self, letters: str) -> None:
        """Listen to these kinds of topics as well."""
        wanted = "".join(sorted({*self._letters, *letters}))
        if wanted != self._letters:
            before, self._letters = self.path, wanted
            before.rename(self.path)
            self._roll.turn()

    def hear(self) -> list[str] | None:
        """The topics of all nudges that have come; `None` if one of them named none."""
        topics: list[str] = []
        told = True
        while True:
            try:
                nudge = self.socket.recv(_LONGEST_NUDGE)
            except (BlockingIOError, InterruptedError):
                return topics if told else None
            told = told and bool(nudge)
            topics += nudge.decode(errors="replace").split("\n")

    def close(self) -> None:
        """Stop hearing, and leave no trace."""
        self.socket.close()
        with suppress(OSError):
            self.path.unlink()
            self._stem.parent.rmdir()  # works only for who leaves last


def _nudge(topics: Collection[str]) -> bytes:
    """What to send; nothing stands for topics that are too long even in short."""
    for told in (topics, in_short(topics)):
        text = "\n".join(told).encode(errors="replace")
        if len(text) <= _LONGEST_NUDGE:
            return text
    return b""


class Peers:
    """Everyone else's ears."""

    def __init__(self, folder: Path, roll: Roll) -> None:
        self._folder = folder
        self._roll = roll
        self._socket: socket.socket | None = None
        self._seen = UNKNOWN
        self._names: list[str] = []

    def there(self) -> bool:
        """Whether there is anybody."""
        there = self._roll.bytes
        if there is not None and there[:BYTES] == self._seen:
            return bool(self._names)
        return bool(self._listed())

    def nudge(self, topics: Collection[str], own: Ear | None) -> None:
        """Send the topics to whoever wants to hear of such. Never blocks and never raises."""
        names = self._listed()
        if not names:
            return
        letters, nudge = {topic[0] for topic in topics}, _nudge(topics)
        skip = None if own is None else own.path.name
        for name in names:
            if name != skip and letters.intersection(name.rpartition(".")[2]):
                self._send(nudge, name)

    def close(self) -> None:
        """Let go of the socket."""
        sender, self._socket = self._socket, None
        if sender is not None:
            sender.close()

    def _listed(self) -> list[str]:
        """The names in the folder, read again only when someone has come."""
        mark = self._roll.mark()
        if mark == UNKNOWN or mark != self._seen:
            self._seen = mark
            try:
                self._names = os.listdir(self._folder)  # noqa: PTH208 - names are enough
            except OSError:  # nobody has ever listened, or nobody does any more
                self._names = []
        return self._names

    def _send(self, nudge: bytes, name: str) -> None:
        path = self._folder / name
        try:
            if self._socket is None:
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                self._socket.setblocking(False)
            self._socket.sendto(nudge, os.fspath(path))
        except ConnectionRefusedError:  # its process is gone without a good-bye
            path.unlink(missing_ok=True)
        except OSError:  # it has just left, or has more nudges than it can read: both are fine
            self._seen = UNKNOWN
