"""Writes docs/reference/ from the code, so that it is complete and cannot lie.

    python tests/docs/reference.py

A test fails when a page is not what this makes of the code.
"""

import ast
import inspect
import logging
import re
import sys
import tempfile
import textwrap
from pathlib import Path

import click
import msgspec

import oxmill
from oxmill import errors
from oxmill.app import AppOptions
from oxmill.cli.exits import Exit
from oxmill.cli.framework import common_options
from oxmill.cli.main import SECTIONS, main
from oxmill.connect import connect
from oxmill.observe import events
from oxmill.queue import declaring, options, work
from oxmill.queue.control import Control
from oxmill.rules.duration import spell
from oxmill.store.capabilities import Capability
from oxmill.testing.harness import Testing
from oxmill.worker.config import WorkerConfig
from oxmill.worker.worker import Worker

FOLDER = Path(__file__).parent.parent.parent / "docs" / "reference"
NOTE = "<!-- Made from the code by `make docs`; do not edit. -->"
WIDTH = 100


# -- reading the code ------------------------------------------------------------------------------


def class_node(kind):
    """The syntax tree of a class."""
    return ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]


def field_docs(kind):
    """The text that stands below each field of a class; empty where there is none."""
    found, body = {}, class_node(kind).body
    for at, node in enumerate(body):
        names = []
        if isinstance(node, ast.AnnAssign):
            names = [node.target.id]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets]
        after = body[at + 1] if at + 1 < len(body) else None
        told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        for name in names:
            found[name] = inspect.cleandoc(after.value.value) if told else ""
    return found


def annotations(kind):
    """The annotation of each field of a class, as written."""
    return {
        node.target.id: ast.unparse(node.annotation)
        for node in class_node(kind).body
        if isinstance(node, ast.AnnAssign)
    }


def first(text):
    """The first paragraph, in one line."""
    return " ".join(inspect.cleandoc(text or "").split("\n\n")[0].split())


def wrapped(text):
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(map(cell, row)) + " |" for row in rows)])


# -- pages -----------------------------------------------------------------------------------------


def cli_page():
    """Every command with its arguments, options and examples."""
    parts = [
        "# Command line",
        (
            "Data goes to standard output, messages to standard error. Colours are left out where the "
            "output is not a terminal or `NO_COLOR` is set."
        ),
        (
            'The app is found by `--app`, else `OXMILL_APP`, else `[tool.oxmill] app = "module:app"` in '
            "`pyproject.toml`, else `app.py` or `tasks.py` in the current folder. The store is named by "
            "`--url`, else it is the app's own, else, without an app, `OXMILL_URL`."
        ),
        "## Exit codes",
        table(
            ("code", "meaning"),
            [(f"{int(code)}", _exit_meaning(code)) for code in Exit],
        ),
        "## Options of every command",
        _options(common_options()),
    ]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}")
        for name in names:
            command = main.get_command(click.Context(main), name)
            parts += _command(f"oxmill {name}", command)
    return parts


def _exit_meaning(code):
    told = {
        Exit.OK: "It was done.",
        Exit.USAGE: "The command line or a setting is wrong; nothing was done.",
        Exit.NOT_FOUND: "The job, task, schedule or worker that was named is not there.",
        Exit.TIMEOUT: "The time given to a wait has passed; the job goes on.",
        Exit.INTERRUPT: "Ctrl-C, or a question answered with no.",
    }
    return told.get(code) or field_docs(Exit)[code.name]


def _command(path, command):
    if isinstance(command, click.Group):
        yield f"### {path}"
        yield wrapped(command.help)
        for name in command.list_commands(click.Context(command)):
            yield from _command(f"{path} {name}", command.commands[name])
        return
    yield f"### {path}"
    arguments = [
        param.make_metavar(click.Context(command))
        for param in command.params
        if isinstance(param, click.Argument)
    ]
    yield f"`{' '.join([path, *arguments])}`"
    for paragraph in inspect.cleandoc(command.help).split("\n\n"):
        yield wrapped(" ".join(paragraph.split()))
    common = {param.name for param in common_options()}
    own = [
        param
        for param in command.params
        if isinstance(param, click.Option) and param.name not in common
    ]
    if own:
        yield _options(own)
    yield "```sh\n" + "\n".join(command.examples) + "\n```"


def _options(params):
    rows = []
    for param in params:
        names = ", ".join(f"`{name}`" for name in param.opts)
        if not param.is_flag:
            names += f" {param.metavar or _kind(param)}"
        rows.append((names, param.help))
    return table(("option", "meaning"), rows)


def _kind(param):
    if isinstance(param.type, click.Choice):
        return " · ".join(map(str, param.type.choices))
    return {"integer": "N", "integer range": "N"}.get(param.type.name, "TEXT")


def options_page():
    """Options of apps, tasks, calls, schedules and plain items."""
    parts = [
        "# Options",
        (
            "The nearest option counts: of a call (`task.using(...)`), else of the task "
            "(`@app.task(...)`), else of the app (`App(defaults={...})`)."
        ),
        (
            "A **Duration** is a `timedelta`, a number of seconds, or text such as `90s`, `1h30m`, "
            "`250ms`, `2d`. A time must be aware of its zone."
        ),
    ]
    for title, kind in (
        ("App(url, ...)", AppOptions),
        ("Of an app, a task or a call", options.Defaults),
        ("Of a task only: @app.task(...)", options.Declared),
        ("Of a call only: task.using(...)", options.Options),
        ("Of a schedule: app.every(...), app.cron(...)", declaring.Timing),
        ("Of a cron schedule", declaring.CronTiming),
        ("Of an item: queue.add(data, ...)", work.ItemOptions),
    ):
        docs = field_docs(kind)
        rows = [
            (f"`{name}`", f"`{kind_}`", docs[name]) for name, kind_ in annotations(kind).items()
        ]
        parts += [f"## {title}", table(("option", "type", "meaning"), rows)]
    return parts


def worker_page():
    """Options of a worker."""
    docs, kinds = field_docs(WorkerConfig), annotations(WorkerConfig)
    defaults = WorkerConfig()
    rows = []
    for name, kind in kinds.items():
        value = getattr(defaults, name)
        shown = spell(value) if kind == "Micros" else repr(value)
        rows.append((f"`{name}`", f"`{shown}`", docs[name]))
    return [
        "# Worker options",
        (
            "For `app.worker(...)`, `app.running(...)` and, by name, `oxmill worker --set "
            'OPTION=VALUE`. Times are given as durations (`"25s"`), sizes as bytes or text '
            '(`"512MB"`).'
        ),
        table(("option", "default", "meaning"), rows),
    ]


def errors_page():
    """Every error, by family."""
    kinds = [
        kind
        for kind in vars(errors).values()
        if inspect.isclass(kind) and issubclass(kind, errors.OxmillError)
    ]
    rows = [
        (f"`{kind.__name__}`", f"`{kind.__bases__[0].__name__}`", first(kind.__doc__))
        for kind in kinds
    ]
    tree = errors.__doc__.partition("\n\n")[2].strip()
    return [
        "# Errors",
        (
            "All are in `oxmill.errors`; the most used ones can be imported from `oxmill`. Every message "
            "says what happened and what to do next."
        ),
        f"```text\n{tree}\n```",
        table(("error", "is a", "meaning"), rows),
    ]


def events_page():
    """What a worker tells: the lines of its log."""
    rows = []
    for kind in events.Happening.__subclasses__():
        level = logging.getLevelName(kind.level).lower()
        fields = ", ".join(f"`{name}`" for name in kind.__struct_fields__)
        rows.append((f"**{kind.words}**", level, fields, first(kind.__doc__)))
    return [
        "# Log lines",
        (
            "A worker writes one line per event, on the logger `oxmill.worker`, as `key=value` text or, "
            "with `--log json`, as one JSON object per line. The fields travel as `extra` on the log "
            "record, so any handler sees them."
        ),
        table(("line", "level", "fields", "meaning"), rows),
    ]


def stores_page():
    """What each store can do."""
    with tempfile.TemporaryDirectory() as folder:
        urls = (
            *("memory://", f"sqlite:///{folder}/jobs.db"),
            *("redis://localhost", "redis://localhost?shards=2"),
            *("postgresql://localhost/jobs", "mysql://localhost/jobs"),
        )
        stores = [connect(url) for url in urls]  # none is reached before its first use
        docs = field_docs(Capability)
        rows = [
            (
                f"`{one.name}`",
                docs[one.name] or one.name.replace("_", " ").lower(),
                *("yes" if one in store.capabilities else "no" for store in stores),
            )
            for one in Capability
        ]
        names = [store.name for store in stores]
        names[3] += " (shards > 1)"
        for store in stores:
            store.close()
    return [
        "# Stores",
        "All stores keep the same promises; what goes beyond them is declared as a capability.",
        table(("capability", "meaning", *names), rows),
        (
            "Redis (which Valkey shares), PostgreSQL and MySQL (which MariaDB shares) are previews. MySQL "
            "itself was never tested, only MariaDB."
        ),
    ]


def api_page():
    """Every public name with what it promises."""
    parts = [
        "# Public names",
        (
            "Everything but the last three is imported from `oxmill`. A method `x` that touches the store has a twin "
            "`ax` to be awaited, with the same signature."
        ),
    ]
    for name in oxmill.__all__:
        item = getattr(oxmill, name)
        parts.append(f"## {name}")
        parts.append(wrapped(first(inspect.getdoc(item))))
        if inspect.isclass(item) and not issubclass(item, errors.OxmillError):
            rows = list(_members(item))
            if rows:
                parts.append(table(("member", "what it does"), rows))
    for title, kind in (
        ("app.control", Control),
        ("app.testing()", Testing),
        ("app.worker(...)", Worker),
    ):
        parts += [f"## {title}", wrapped(first(kind.__doc__))]
        parts.append(table(("member", "what it does"), list(_members(kind))))
    return parts


def _members(kind):
    names = [name for name in dir(kind) if not name.startswith("_")]
    if issubclass(kind, BaseException | msgspec.Struct):
        names = [name for name in names if name not in dir(BaseException)]
    for name in names:
        if name[0] == "a" and name[1:] in names:
            continue
        doc = inspect.getdoc(inspect.getattr_static(kind, name)) or ""
        if doc.startswith(("For the app:", "For the worker:")):
            continue
        if callable(getattr(kind, name)) or isinstance(
            inspect.getattr_static(kind, name), property
        ):
            twin = f", `a{name}`" if f"a{name}" in names else ""
            yield f"`{name}`{twin}", first(doc)


PAGES = {
    "api.md": api_page,
    "cli.md": cli_page,
    "errors.md": errors_page,
    "log-lines.md": events_page,
    "options.md": options_page,
    "stores.md": stores_page,
    "worker-options.md": worker_page,
}


def render(name):
    """The text of one page."""
    title, *rest = PAGES[name]()
    wide = [wrapped(part) if not re.match(r"[|#`<]", part) else part for part in rest]
    return "\n\n".join([title, NOTE, *wide]) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        (FOLDER / page).write_text(render(page), encoding="utf-8")
    sys.stdout.write(f"{len(PAGES)} pages written to {FOLDER}\n")
