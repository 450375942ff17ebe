"""Sessions that go from one test to the next.

A new session plans every statement and compiles every function anew, which takes longer than most
tests do. Workers keep theirs for hours: plans made for other values, in a schema that was emptied since,
are what they live with. That a store is right from its first call on is shown by `test_postgres_servers.py`,
whose tests each open sessions of their own on one of its servers.
"""


class KeptLinks:
    """The idle sessions of drivers that were closed."""

    def __init__(self):
        self._idle = []

    def lend(self, driver):
        """Let a driver that is not in use yet begin with these sessions, and leave its own here."""
        pool = driver.transport._pool
        connect, clear = pool._connect, pool.clear

        def kept():
            while self._idle:
                link = self._idle.pop()
                if link.alive:
                    return link
                link.close()
            return connect()

        def leave():
            links = clear()
            self._idle += [link for link in links if link.idle]
            return [link for link in links if not link.idle]

        pool._connect, pool.clear = kept, leave
        return driver

    def close(self):
        """At the end of all tests."""
        for link in self._idle:
            link.close()
