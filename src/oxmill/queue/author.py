"""Who gives the orders, for the record."""

from __future__ import annotations

import socket


def who(author: str = "") -> str:
    """The author given, else the user of this process and its host, such as `ann@web-1`."""
    if author:
        return author
    import getpass  # noqa: PLC0415 - idle workers do without

    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (OSError, KeyError):  # a container without a user entry
        return f"?@{socket.gethostname()}"
