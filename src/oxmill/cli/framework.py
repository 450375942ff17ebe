"""What all commands share: common options, examples in the help, near matches, exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

import click
from click.core import ParameterSource

from oxmill.cli.output import FORMATS

COMMON: Final = ("app", "url", "output", "debug")
"""The options that every command has."""


class Command(click.Command):
    """A command with the common options, whose help ends in examples.

    The common options become the `Session` that the command gets by `click.pass_obj`.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.params = [*self.params, *common_options()]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command within a session made of the common options."""
        from oxmill.cli.session import Session  # noqa: PLC0415 (not needed for help)

        ctx.obj = Session(**{name: _chosen(ctx, name) for name in COMMON})
        with ctx.obj:
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command's own options first, then those that every command has."""
        common = {"--help", *(f"--{name}" for name in COMMON)}
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        for title, mine in (("Options", True), ("Common options", False)):
            rows = [
                row
                for option in options
                if (row := option.get_help_record(ctx)) and common.isdisjoint(option.opts) is mine
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Examples that can be copied."""
        write_examples(self.examples, formatter)


def _chosen(ctx: click.Context, name: str) -> Any:
    """A common option of a command: its own, else what stands before the command."""
    value, given = ctx.params.pop(name), ctx.get_parameter_source(name)
    if given is ParameterSource.DEFAULT:
        return ctx.find_root().params.get(name, value)
    return value


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """A section of command lines."""
    if examples:
        with formatter.section("Examples"):
            for line in examples:
                formatter.write(f"{' ' * formatter.current_indent}{line}\n")


def common_options() -> list[click.Parameter]:
    """The options that every command has."""
    return [
        click.Option(
            ["--app"], metavar="MODULE[:APP]", help="The app; else OXMILL_APP, else found."
        ),
        click.Option(["--url"], metavar="URL", help="The store; else the app's own."),
        click.Option(
            ["-o", "--output"],
            type=click.Choice(FORMATS),
            default="table",
            help="How to print data. Default: table.",
        ),
        click.Option(["--debug"], is_flag=True, help="Show tracebacks."),
    ]


class Group(click.Group):
    """A group that keeps the order of its commands and suggests near matches."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The commands in the order in which they were written."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of that name, or a usage error with the nearest names."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = nearest(name, self.list_commands(ctx))
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"there is no command {name!r} here.{hint}", ctx)
        return super().resolve_command(ctx, args)


class ListGroup(Group):
    """A group whose `list` command runs when none is named: `oxmill jobs` lists jobs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `list` in front of bare options."""
        if not args or (args[0].startswith("-") and args[0] != "--help"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """The known names most like this one, best first."""
    from difflib import get_close_matches  # noqa: PLC0415 (only when something went wrong)

    return get_close_matches(name, known, n=3, cutoff=0.5)


class Root(Group):
    """The top group: commands in sections, each module imported only when it is used."""

    def __init__(self, sections: dict[str, dict[str, str]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.params = [*self.params, *common_options()]
        self.sections = sections

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All commands, section by section."""
        return [name for section in self.sections.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Command `x` is `command` in the module `oxmill.cli.x`."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = import_module(f"oxmill.cli.{cmd_name}").command
        assert isinstance(command, click.Command)  # noqa: S101 (a slip in our own table)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One list per section, without importing a single command."""
        width = max(map(len, self.list_commands(ctx)))
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command line and exit with its code; errors are told, not thrown."""
        words = sys.argv[1:] if args is None else list(args)
        debug = "--debug" in words or bool(os.environ.get("OXMILL_DEBUG"))
        extra["standalone_mode"] = False
        try:
            answer = super().main(words, prog_name or "oxmill", **extra)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (told by report)
            from oxmill.cli.exits import report  # noqa: PLC0415 (not needed for help)

            sys.exit(int(report(error, debug=debug)))
        sys.exit(answer if isinstance(answer, int) else 0)
