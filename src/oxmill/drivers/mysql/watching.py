"""Looks for what was written, as cheaply as the server allows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from pymysql import err

from oxmill.drivers.mysql.faults import is_lost
from oxmill.drivers.mysql.link import Link, Question
from oxmill.drivers.mysql.literals import Sql
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.sql.steps import Rows

LOOK: Final = 0.03
"""Seconds from one look to the next."""
LEAST: Final = LOOK / 2
"""Seconds of rest between them, however long a look takes."""
LATEST: Final = 1.5 * LOOK
"""Seconds after which there is a look, however often this process claims."""
CALM: Final = 0.5
"""Seconds without a change after which MariaDB looks in our place."""
LOOKS: Final = 10
"""So often it looks before it answers; whoever closes the doorbell may have to wait for that."""
_PAUSE: Final = Sql(b"%g" % LOOK)


class Watching:
    """What one connection has seen."""

    def __init__(self, link: Link, claimed_at: Callable[[], float]) -> None:
        self._link = link
        self._claimed_at = claimed_at
        """When the last claim of this process set out."""
        self._look = Question(statement("last_change", {}))
        self._wait: Question | None = None
        """What is asked instead while nothing is written."""
        self._able = link.takes_blocks
        self._seen: Rows | None = None
        self._since = 0.0
        self._at = 0.0
        """When the last look began."""

    def changed(self) -> bool:
        """Whether something was written since the last look, or this is the first one."""
        if self._seen is not None and self._wait is None:
            self._rest()
        seen = self._looked() if self._wait is None else self._waited(self._wait)
        now = time.monotonic()
        if seen != self._seen:
            self._seen, self._since, self._wait = seen, now, None
            return True
        if self._wait is None and self._able and now - self._since > CALM:
            ((many, number),) = seen
            asked = {"many": many, "number": number, "looks": LOOKS, "pause": _PAUSE}
            self._wait = Question(statement("await_change", asked))
        return False

    def _rest(self) -> None:
        """Sleep until the next look. A wait that can be ended sooner takes several times as much work."""
        time.sleep(max(self._at + LOOK - time.monotonic(), LEAST))
        # A claim has seen what was there for its queues. The next look is due as long after it as after a
        # look; what else somebody waits for must not be put off for long by that.
        put_off = min(self._claimed_at() + LOOK, self._at + LATEST) - time.monotonic()
        if put_off > 0:
            time.sleep(put_off)

    def _looked(self) -> Rows:
        self._at = time.monotonic()
        return self._link.ask_again(self._look)[0].rows

    def _waited(self, question: Question) -> Rows:
        try:
            rows = self._link.ask_again(question)[0].rows
            self._at = time.monotonic()
            return rows
        except err.Error as error:
            if is_lost(error):
                raise
            self._able, self._wait = False, None  # something in between does not let blocks pass
            return self._looked()
