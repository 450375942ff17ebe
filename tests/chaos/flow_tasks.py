"""What runs in flows that are cut off: every run leaves a line behind."""

import json
from pathlib import Path

from oxmill import App, Spawn, current


class FlowTasks:
    """Tasks of one app, which write down what they were given."""

    def __init__(self, app: App, folder: str, aside: str):
        self._notes = Path(folder) / "runs"
        self._folder = Path(folder)
        self._aside = aside
        self.way = app.pipeline("way", *self._steps(app))
        self._plain(app)
        self._spawning(app)

    def note(self, got):
        """What this run was given."""
        self.write_down(current().id, current().attempt, got)

    def write_down(self, job, attempt, got):
        """One line per run, written at once."""
        line = {"job": job, "attempt": attempt, "got": got}
        with self._notes.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def mend(self, flow):
        """From now on nothing of this flow fails."""
        (self._folder / f"mended {flow}").touch()

    def _mended(self):
        return (self._folder / f"mended {current().flow}").exists()

    def _plain(self, app):
        @app.task(name="give")
        async def give(n: int) -> int:
            self.note(n)
            if n < 0 and not self._mended():
                raise ValueError(n)
            return abs(n)

        @app.task(name="total")
        async def total(numbers: list[int]) -> int:
            self.note(numbers)
            return sum(numbers)

        self.give, self.total = give, total

    def _spawning(self, app):
        give, elsewhere = self.give, self.give.using(queue=self._aside)

        @app.task(name="parent")
        async def parent(numbers: list[int], aside: list[int]) -> int:
            self.note("spawn")
            here = give.using(queue=current().queue)
            calls = [here.bind(n) for n in numbers] + [elsewhere.bind(n) for n in aside]
            raise Spawn(calls, then=joined)

        @parent.continuation
        async def joined(results: list[int]) -> int:
            self.note(results)
            return sum(results)

        self.parent = parent

    def _steps(self, app):
        @app.step(name="first")
        async def first(n: int) -> dict[str, int]:
            self.note(n)
            return {"n": n + 1}

        @app.step(name="second")
        async def second(n: int) -> dict[str, int]:
            self.note(n)
            return {"n": n * 10, "m": n}

        @app.step(name="third")
        async def third(n: int, m: int) -> dict[str, int]:
            self.note([n, m])
            return {"n": n - m}

        return first, second, third


def runs(folder):
    """Every run that was noted."""
    path = Path(folder) / "runs"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
