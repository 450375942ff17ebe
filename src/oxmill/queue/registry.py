"""The tasks that an app declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from oxmill.errors import BadConfig, TaskNotFound
from oxmill.model.job import JSON
from oxmill.queue.codec import decode_plain
from oxmill.queue.options import DEFAULT_QUEUE

if TYPE_CHECKING:
    from oxmill.model.job import Job
    from oxmill.queue.task import BaseTask


class Registry:
    """Tasks by name. A name means one task; a former name may be an alias of another."""

    def __init__(self) -> None:
        self._tasks: dict[str, BaseTask[..., Any]] = {}
        self._aliases: dict[str, str] = {}

    @property
    def home(self) -> None:
        """Not to be imported."""

    def add(self, task: BaseTask[..., Any]) -> None:
        """Declare a task. The same function declared again, as in a notebook, takes its place."""
        for name in (task.name, *task.aliases):
            holder = self.find(name)
            if holder is not None and not _same_place(holder, task):
                raise BadConfig(
                    f"two tasks are named {name!r}: {_place(holder)} and {_place(task)}. Give one "
                    f"of them another name, as in @app.task(name=...)"
                )
        self._tasks[task.name] = task
        self._aliases.update(dict.fromkeys(task.aliases, task.name))

    def find(self, name: str) -> BaseTask[..., Any] | None:
        """The task of this name or former name."""
        return self._tasks.get(name) or self._tasks.get(self._aliases.get(name, ""))

    def get(self, name: str) -> BaseTask[..., Any]:
        """The task of this name or former name; else `TaskNotFound` with the closest names."""
        task = self.find(name)
        if task is None:
            from difflib import get_close_matches  # noqa: PLC0415 - idle workers do without

            raise TaskNotFound(name, get_close_matches(name, [*self._tasks, *self._aliases]))
        return task

    def names(self) -> tuple[str, ...]:
        """The names of all tasks, sorted, without former ones."""
        return tuple(sorted(self._tasks))

    def queues(self) -> tuple[str, ...]:
        """The queues that the tasks use, and the default one."""
        return tuple(sorted({DEFAULT_QUEUE, *(task.options.queue for task in self)}))

    def read_result(self, record: Job) -> Any:
        """A job's result by its task's annotation, or as plain JSON or bytes without a task."""
        task = self.find(record.task)
        if task is not None:
            return task.read_result(record)
        if record.result is None or record.content_type != JSON:
            return record.result
        return decode_plain(record.result)

    def __iter__(self) -> Iterator[BaseTask[..., Any]]:
        return iter(tuple(self._tasks.values()))

    def __len__(self) -> int:
        return len(self._tasks)


def _same_place(one: BaseTask[..., Any], other: BaseTask[..., Any]) -> bool:
    return _place(one) == _place(other)


def _place(task: BaseTask[..., Any]) -> str:
    return f"{task.fn.__module__}.{task.fn.__qualname__}"
