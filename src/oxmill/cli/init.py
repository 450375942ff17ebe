"""`oxmill init`: a starter file."""

from __future__ import annotations

from pathlib import Path

import click

from oxmill.cli.framework import Command
from oxmill.cli.output import say
from oxmill.cli.session import Session

STARTER = '''\
"""Jobs of this project. Run them with:  oxmill dev {name}"""

from oxmill import App, Retry

app = App()  # a SQLite file in this folder; another store is another URL


@app.task
async def greet(name: str) -> str:
    """An async task: runs on the worker's event loop."""
    return f"Hello, {{name}}!"


@app.task(queue="mail", retry=Retry(5, base="2s"), timeout="30s")
def send(to: str, *, subject: str = "hi") -> int:
    """A plain function: runs in a thread. It is tried five times."""
    print(f"mail to {{to}}: {{subject}}")
    return len(to)


if __name__ == "__main__":
    job = greet.enqueue("world")
    print("enqueued", job.id)
    print("result: ", job.result(timeout="30s"))
'''


@click.command(cls=Command, examples=("oxmill init", "oxmill init jobs/app.py"))
@click.argument("path", default="app.py", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@click.pass_obj
def command(_session: Session, *, path: Path, force: bool) -> None:
    """Write a starter app file."""
    if path.exists() and not force:
        raise click.UsageError(f"{path} is there already; name another file, or give --force")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(STARTER.format(name=path), encoding="utf-8")
    click.echo(path)
    say(f"Run its jobs:    oxmill dev {path}")
    say(f"Enqueue one:     python {path}")
