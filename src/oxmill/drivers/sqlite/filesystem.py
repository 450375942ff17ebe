"""Where a database file may live, and what is known about its place."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from oxmill.errors import StoreRefused

_MOUNTS: Final = Path("/proc/self/mounts")
_REMOTE: Final = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "drvfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "prl_fs",
        "smb2",
        "smb3",
        "smbfs",
        "vboxsf",
        "vmhgfs",
        "webdav",
    }
)


def read_mounts() -> str:
    """The table of mounted filesystems; empty where the system has none to read."""
    try:
        return _MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def filesystem_of(path: Path, mounts: str) -> str:
    """The type of the filesystem a path is on; empty if it is not known."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) < 3:
            continue
        point = parts[1].encode().decode("unicode_escape")
        if path.is_relative_to(point) and len(point) >= best:
            best, kind = len(point), parts[2]
    return kind


def is_remote(kind: str) -> bool:
    """Whether locks and shared memory cannot be relied on there."""
    return kind in _REMOTE or kind.startswith("fuse.")


def check_folder(path: Path) -> None:
    """Refuse a path in a folder that is not there: it may be mistyped, or not mounted."""
    if not path.parent.is_dir():
        raise StoreRefused(f"there is no folder {path.parent}; create it, or give another path")


def prepare_place(path: Path) -> None:
    """Make sure that there is a file only its owner may read, in a place SQLite can work with.

    The file is never opened beside SQLite: closing a second descriptor would drop SQLite's locks.
    """
    check_folder(path)
    folder = path.parent
    kind = filesystem_of(folder.resolve(), read_mounts())
    if is_remote(kind):
        raise StoreRefused(
            f"{path} is on a {kind} filesystem, where SQLite's locks and shared memory do not hold "
            f"and jobs could be lost. Put the file on a local disk, or use a server as the store"
        )
    if path.is_dir():
        raise StoreRefused(f"{path} is a folder; give the path of a file")
    writable = os.access(folder, os.W_OK | os.X_OK)
    if not writable or (path.exists() and not os.access(path, os.R_OK | os.W_OK)):
        raise StoreRefused(
            f"{path} cannot be written by this user, or its folder cannot: SQLite needs both. "
            f"Change the rights, or use another place"
        )
    _create(path)


def _create(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise StoreRefused(f"{path} cannot be created: {error}. Use another place") from error


def is_mac() -> bool:
    """Whether an ordinary fsync leaves data in the drive's cache."""
    return sys.platform == "darwin"
