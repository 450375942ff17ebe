"""What one command works with: the app and the store that its options name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self, TypeVar

from oxmill.cli.exits import NoStore
from oxmill.cli.locate import Place, load, locate
from oxmill.cli.output import Format
from oxmill.errors import BadConfig
from oxmill.queue.author import who

if TYPE_CHECKING:
    from oxmill.app import App
    from oxmill.store.driver import Driver
    from oxmill.store.plan import Plan

T = TypeVar("T")


class Session:
    """The common options of one command, and what they lead to, opened when it is asked for."""

    def __init__(
        self,
        *,
        app: str | None = None,
        url: str | None = None,
        output: Format = "table",
        debug: bool = False,
    ) -> None:
        self.given = app
        self._given_by = "--app"
        self.url = url
        self.output: Format = output
        self.debug = debug
        self._app: App | None = None
        self._driver: Driver | None = None
        self._found = False
        """Whether there is a store at the place that was opened."""

    def words(self) -> list[str]:
        """The common options as words, for a process of its own."""
        given = {"--app": self.given, "--url": self.url}
        words = [word for name, value in given.items() if value for word in (name, value)]
        return [*words, "--debug"] if self.debug else words

    def place(self) -> Place | None:
        """Where the app is, if there is one."""
        return locate(self.given, self._given_by)

    def name_app(self, place: str) -> None:
        """Take the app that the command line names without --app."""
        self.given, self._given_by = place, "the command line"

    @property
    def app(self) -> App:
        """The app that was named or found, on the store that --url names, if it does."""
        if self._app is None:
            place = self.place()
            if place is None:
                raise BadConfig(
                    "no app was named and none was found here. Write one with: oxmill init, "
                    "or name yours with --app package.module:app"
                )
            self._app = load(place)
            if self.url is not None:
                self._app.url = self.url
        return self._app

    @property
    def store(self) -> str:
        """The store's URL: --url, else the app's, else OXMILL_URL."""
        if self.url is not None:
            return self.url
        if self.place() is None and (url := os.environ.get("OXMILL_URL")):
            return url
        return self.app.url

    @property
    def driver(self) -> Driver:
        """The store, which has to be there: to look at one must not make one, least of all in the
        wrong place. One that is there brings itself up to date at its first use, as it does for an
        app, unless the URL says that people do that."""
        from oxmill.store.roles.installing import Version  # noqa: PLC0415 (not needed for help)

        driver = self.opened
        if not self._found and not driver.run(driver.installing.version(Version())).current:
            raise NoStore(
                f"there is no store at {driver.url} yet. Make it with: oxmill db migrate, or let the "
                f"first enqueue or worker do so. If yours is elsewhere, name it with --url"
            )
        self._found = True
        return driver

    @property
    def opened(self) -> Driver:
        """The store, whether or not there is one yet: for commands that make it, or that ask for its
        version or its health, which is no use."""
        from oxmill.connect import connect  # noqa: PLC0415 (loads a driver)

        if self._driver is None:
            self._driver = connect(self.store)
        return self._driver

    def run(self, plan: Plan[T]) -> T:
        """Perform a plan on the store."""
        return self.opened.run(plan)

    @property
    def author(self) -> str:
        """Who gives the orders, for the record."""
        return who()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._driver is not None:
            self._driver.close()
