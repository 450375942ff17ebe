"""The result of a job that has not run yet."""

from __future__ import annotations

from typing import Any, NoReturn

from oxmill.errors import WrongContext


class StandIn:
    """Stands for the result that a job of a flow will have. It can be passed to jobs of the same
    flow, also inside lists, dicts and dataclasses, and nothing else can be done with it."""

    __slots__ = ("node",)

    def __init__(self, node: Any) -> None:
        object.__setattr__(self, "node", node)

    def _refuse(self, *_: object) -> NoReturn:
        raise WrongContext(
            f"{self!r} is not there yet: the job has not run. Pass it on as a whole, as in "
            f"f.add(task, node.out), and use it inside that task"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # asked for by the machinery of the language, not by people
            raise AttributeError(name)
        self._refuse()

    def __repr__(self) -> str:
        return f"<the result of {self.node.name}>"

    __str__ = __format__ = __bool__ = __len__ = __iter__ = __getitem__ = __call__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = __contains__ = _refuse
