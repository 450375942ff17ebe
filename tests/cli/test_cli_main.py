"""The front door: help, near matches, exit codes, finding the app, how fast it opens."""

import json
import os
import resource
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from textwrap import dedent

import click
import pytest
from click.testing import CliRunner

from oxmill import App, errors
from oxmill.cli import supervise
from oxmill.cli.exits import Exit, exit_code
from oxmill.cli.framework import Command
from oxmill.cli.locate import Place, load, locate
from oxmill.cli.main import SECTIONS, main


def run(*words, code=0, env=None):
    result = CliRunner().invoke(main, list(words), env=env)
    assert result.exit_code == code, f"{result.exit_code}\n{result.stdout}\n{result.stderr}"
    return result


def leaves(command=main, path=("oxmill",)):
    """Every command that does something, with its full name."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from leaves(command.get_command(context, name), (*path, name))


LEAVES = list(leaves())
NAMES = [" ".join(path) for path, _ in LEAVES]

# -- help ------------------------------------------------------------------------------------------


def test_help_shows_every_command_in_its_section():
    text = run("--help").stdout
    for title, commands in SECTIONS.items():
        assert f"{title}:" in text
        for name, words in commands.items():
            assert f"  {name} " in text
            assert words in text


@pytest.mark.parametrize("name", [name for section in SECTIONS.values() for name in section])
def test_the_list_says_what_the_command_says_of_itself(name):
    command = main.get_command(click.Context(main), name)
    words = next(section[name] for section in SECTIONS.values() if name in section)
    assert " ".join((command.help or "").split("\n\n")[0].split()) == words


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=NAMES)
def test_every_command_has_help_and_two_examples_that_parse(path, command):
    assert isinstance(command, Command)
    assert command.help
    assert len(command.examples) >= 2
    text = run(*path[1:], "--help").stdout
    for line in command.examples:
        assert line in text
        words = shlex.split(line.partition(" > ")[0])
        assert tuple(words[: len(path)]) == path or len(path) > 2  # `oxmill workers` is its list
        given = words[len(path) :] if tuple(words[: len(path)]) == path else words[2:]
        command.make_context(path[-1], given)


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=NAMES)
def test_every_option_is_explained(path, command):
    bare = [
        param.name
        for param in command.params
        if isinstance(param, click.Option) and not (param.help or "").strip()
    ]
    assert bare == []


def test_help_is_fast(tmp_path):
    """At most 120 ms over bare Python (40 ms on a quiet machine), of the processor: it waits for nothing,
    and others who use the machine must not count."""
    # With compiled bytecode, as installed packages have it, whatever the environment says.
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}

    def best(*words):
        taken = []
        for _ in range(6):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *words], check=True, capture_output=True, env=env)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        return min(taken)

    assert best("-m", "oxmill.cli", "--help") - best("-c", "pass") < 0.120


def test_help_imports_no_command_and_nothing_slow():
    code = dedent(
        """
        import sys
        from oxmill.cli.main import main
        try:
            main.main(["--help"])
        except SystemExit:
            pass
        slow = {"asyncio", "msgspec", "sqlite3", "rich", "oxmill.app", "oxmill.cli.jobs"}
        print(sorted(slow & set(sys.modules)), file=sys.stderr)
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


# -- mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("jbos",), "Did you mean jobs?"),
        (("jobs", "lst"), "Did you mean list?"),
        (("queues", "puase"), "Did you mean pause"),
        (("nonsense",), "there is no command 'nonsense' here"),
    ],
)
def test_an_unknown_command_suggests_the_nearest(words, hint):
    result = run(*words, code=2)
    assert hint in result.stderr
    assert "--help" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("jobs", "list", "--nope"), "--nope"),
        (("jobs", "show"), "ID"),
        (("jobs", "list", "-s", "odd"), "odd"),
        (("enqueue", "t", "--delay", "soon"), "'90s'"),
        (("jobs", "list", "--since", "soon"), "neither a time"),
        (("enqueue", "t", "{"), "not JSON"),
        (("enqueue", "t", "3"), "must be an object"),
        (("enqueue", "t", "--on-conflict", "skip"), "needs --unique"),
    ],
)
def test_wrong_usage_is_exit_2(words, hint):
    assert hint in run(*words, "--url", "memory://", code=2).stderr


def test_an_unknown_store_is_exit_2_and_says_which_there_are():
    result = run("jobs", "list", "--url", "mongodb://x", code=2)
    assert "sqlite:///" in result.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.JobNotFound("x", "m"), Exit.NOT_FOUND),
        (errors.TaskNotFound("x"), Exit.NOT_FOUND),
        (errors.ResultTimeout("x", "m"), Exit.TIMEOUT),
        (errors.JobFailed("x", "m"), Exit.FAILED),
        (errors.BadConfig("m"), Exit.USAGE),
        (errors.StoreUnavailable("m"), Exit.STORE),
        (errors.SchemaMismatch("m"), Exit.STORE),
        (errors.NotSupported("m"), Exit.FAILED),
        (errors.ScheduleNotFound("x"), Exit.NOT_FOUND),
        (errors.NotAllowed("m"), Exit.USAGE),
        (errors.IdConflict("x"), Exit.USAGE),
        (errors.DuplicateJob("k", "x"), Exit.USAGE),
        (errors.WrongContext("m"), Exit.USAGE),
        (KeyboardInterrupt(), Exit.INTERRUPT),
        (click.Abort(), Exit.INTERRUPT),
        (click.UsageError("m"), Exit.USAGE),
        (RuntimeError("m"), Exit.FAILED),
    ],
)
def test_exit_codes(error, code):
    assert exit_code(error) is code


def broken(monkeypatch, error):
    def connect(_url):
        raise error

    monkeypatch.setattr("oxmill.connect.connect", connect)


def test_a_store_that_cannot_be_reached_is_exit_4(monkeypatch):
    broken(monkeypatch, errors.StoreUnavailable("the store does not answer; is it running?"))
    result = run("jobs", "list", "--url", "sqlite:///x.db", code=4)
    assert result.stderr == "error: the store does not answer; is it running?\n"


LOOKS = [
    ("jobs", "list"),
    ("jobs", "show", "x"),
    ("jobs", "explain", "x"),
    ("jobs", "wait", "x"),
    ("jobs", "cancel", "x"),
    ("queues", "list"),
    ("queues", "pause", "x"),
    ("queues", "rules"),
    ("flows", "list"),
    ("flows", "show", "x"),
    ("cron", "list"),
    ("status",),
    ("workers",),
    ("events",),
    ("db", "check", "--repair"),
]


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_who_looks_at_a_store_that_is_not_there_is_told_and_makes_none(words, tmp_path):
    result = run(*words, "--url", f"sqlite:///{tmp_path}/no.db", code=4)
    assert f"there is no store at sqlite:///{tmp_path}/no.db yet" in result.stderr
    assert "oxmill db migrate" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [("doctor",), ("db", "check"), ("db", "migrate", "--plan")])
def test_a_store_that_is_not_there_can_be_examined(words, tmp_path):
    run(*words, "--url", f"sqlite:///{tmp_path}/no.db")
    assert list(tmp_path.iterdir()) == []


IN_NO_FOLDER = [
    ("worker", "--drain"),
    ("dev",),
    ("doctor",),
    ("db", "check"),
    ("db", "migrate"),
    ("enqueue", "x", "--raw"),
]


@pytest.mark.parametrize("words", IN_NO_FOLDER, ids=" ".join)
def test_a_store_in_a_folder_that_is_not_there_is_refused(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = tmp_path / "lost.py"
    app.write_text('from oxmill import App\napp = App("sqlite:///jobs.db")\n', encoding="utf-8")
    url = f"sqlite:///{tmp_path}/no/x.db"
    done = subprocess.run(
        supervise.oxmill(*words, "--app", str(app), "--url", url),
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )
    assert f"there is no folder {tmp_path}/no; create it, or give another path" in done.stderr
    assert done.returncode == Exit.STORE, done.stderr


def test_an_app_that_runs_on_a_folder_that_is_not_there_says_so(tmp_path):
    app = App(f"sqlite:///{tmp_path}/no/x.db")
    with pytest.raises(errors.StoreRefused, match="there is no folder"), app.running():
        pass


def test_a_database_without_our_tables_is_left_as_it_is(tmp_path):
    file = tmp_path / "theirs.db"
    with closing(sqlite3.connect(file)) as theirs:
        theirs.execute("CREATE TABLE cats (name TEXT)")
    before = file.read_bytes()
    run("jobs", "list", "--url", f"sqlite:///{file}", code=4)
    assert file.read_bytes() == before


@pytest.mark.parametrize("words", [("enqueue", "send"), ("db", "migrate")])
def test_who_writes_makes_the_store(words, tmp_path):
    url = ("--url", f"sqlite:///{tmp_path}/new.db")
    run(*words, *url)
    run("jobs", "list", *url)


def test_a_traceback_is_shown_only_when_asked_for(monkeypatch):
    broken(monkeypatch, ZeroDivisionError("oops"))
    words = ("jobs", "list", "--url", "sqlite:///x.db")
    quiet = run(*words, code=1).stderr
    assert "Traceback" not in quiet
    assert "ZeroDivisionError: oops" in quiet
    assert "--debug" in quiet
    assert "Traceback" in run(*words, "--debug", code=1).stderr
    assert "Traceback" in run(*words, code=1, env={"OXMILL_DEBUG": "1"}).stderr


# -- finding the app -------------------------------------------------------------------------------

APP = """
from oxmill import App

app = App("memory://")

@app.task
def send(to: str) -> int:
    return 1
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)

    def write(path, text=APP):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
        return file

    yield write
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(
            sys.modules[name].__file__
        ):
            del sys.modules[name]


def test_the_option_comes_first_then_the_variable_then_the_project_then_the_file(
    project, monkeypatch
):
    project("app.py")
    assert locate(None) == Place("app.py", "this folder")
    file = project("pyproject.toml", '[tool.oxmill]\napp = "shop.jobs:app"')
    assert locate(None) == Place("shop.jobs:app", str(file))
    monkeypatch.setenv("OXMILL_APP", "other:app")
    assert locate(None) == Place("other:app", "OXMILL_APP")
    assert locate("mine.py") == Place("mine.py", "--app")


@pytest.mark.parametrize(
    "words",
    [
        ("--url", "sqlite:///mine.db", "-o", "json", "queues", "list"),
        ("--url", "sqlite:///mine.db", "queues", "list", "-o", "json"),
        (
            "--url",
            "sqlite:///other.db",
            "queues",
            "list",
            "--url",
            "sqlite:///mine.db",
            "-o",
            "json",
        ),
        ("--url", "sqlite:///mine.db", "-o", "json"),
    ],
)
def test_common_options_may_stand_before_a_command_and_lose_to_those_behind_it(
    words, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run("enqueue", "send", "--queue", "mine", "--url", "sqlite:///mine.db")

    shown = json.loads(run(*words).stdout)

    assert "mine" in json.dumps(shown)
    assert not (tmp_path / "other.db").exists()


def test_the_project_file_of_a_folder_above_counts(project, monkeypatch):
    file = project("pyproject.toml", '[tool.oxmill]\napp = "shop.jobs:app"')
    project("deep/inside/readme.py", "")
    monkeypatch.chdir(Path("deep/inside"))
    assert locate(None) == Place("shop.jobs:app", str(file))


def test_only_the_nearest_project_file_counts(project, monkeypatch):
    project("pyproject.toml", '[tool.oxmill]\napp = "shop.jobs:app"')
    project("inner/pyproject.toml", "")
    monkeypatch.chdir(Path("inner"))
    assert locate(None) is None


@pytest.mark.parametrize(
    "path", ["pkg/jobs.py", "pkg/jobs.py:app", "pkg.jobs", "pkg.jobs:app", "pkg/jobs.py:other"]
)
def test_an_app_is_taken_by_file_or_module_name(project, path):
    project("pkg/__init__.py", "")
    project("pkg/jobs.py", APP + "\nother = app\n")
    app = load(Place(path, "--app"))
    assert app.registry.names() == ("pkg.jobs:send",)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("nowhere.py", "oxmill init nowhere.py"),
        ("nowhere", "there is no module 'nowhere'"),
        ("jobs:nope", "is not an App (apps there: one, two)"),
        ("jobs", "Name it: --app jobs:NAME"),
    ],
)
def test_an_app_that_cannot_be_taken_is_exit_2(project, path, hint):
    project("jobs.py", "from oxmill import App\none = App('memory://')\ntwo = App('memory://')\n")
    assert hint in run("tasks", "--app", path, code=2).stderr


def test_an_error_inside_the_app_is_not_mistaken_for_a_missing_module(project):
    project("jobs.py", "import no_such_package\n")
    assert "no_such_package" in run("tasks", "--app", "jobs", code=2).stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [("app = App(", "SyntaxError: '(' was never closed"), ("1 / 0", "ZeroDivisionError")],
)
def test_an_app_that_cannot_be_imported_is_told_in_its_own_words(project, text, words):
    project("wrong.py", text)
    said = run("tasks", "--app", "wrong.py", code=2).stderr
    assert words in said
    assert "--debug shows where" in said


def test_no_app_at_all_says_how_to_get_one(project):
    assert "oxmill init" in run("tasks", code=2).stderr


def test_a_broken_project_file_is_named(project):
    project("pyproject.toml", "[tool")
    assert "not valid TOML" in run("tasks", code=2).stderr


def test_oxmill_alone_shows_the_status_of_the_app_it_finds(project):
    assert "Usage:" in run().stdout
    project("app.py")
    assert "memory://" in run().stdout


def test_tasks_lists_what_the_app_declares(project):
    project("app.py")
    header, line = run("tasks").stdout.splitlines()
    assert header.split() == ["TASK", "QUEUE", "RUNS", "TRIES", "ARGUMENTS"]
    assert line.split(maxsplit=4) == ["app:send", "default", "auto", "20", "(to: str) -> int"]


# -- starting --------------------------------------------------------------------------------------


def test_init_writes_a_file_that_runs_and_never_overwrites(project):
    assert run("init").stdout == "app.py\n"
    assert "app:greet" in run("tasks").stdout
    assert "--force" in run("init", code=2).stderr
    run("init", "--force")
    run("init", "jobs/more.py")
    assert Path("jobs/more.py").exists()


@pytest.mark.parametrize("path", ["nope.py", "nope", "nope.jobs:app"])
def test_dev_says_what_is_not_there_before_anything_else(project, path):
    assert run("dev", path, code=2).stderr.startswith("error: there is no ")


@pytest.mark.parametrize("command", ["worker", "dev"])
def test_an_app_named_without_an_option_is_not_called_one(project, command):
    told = run(command, "nope.py", code=2).stderr
    assert "there is no file nope.py (named by the command line)" in told
    assert "(named by --app)" in run(command, "--app", "nope.py", code=2).stderr


def test_a_job_in_memory_is_gone_and_that_is_told():
    assert "gone with it" in run("enqueue", "x", "--raw", "--url", "memory://").stderr


@pytest.mark.parametrize("url", ["redis://host:port/0", "redis://h/x", "redis://h?timeout=soon"])
def test_a_malformed_url_of_redis_is_told_how_to_write_it(url):
    told = run("jobs", "list", "--url", url, code=2).stderr
    assert "write the URL as in redis://user:password@host:6379/0" in told


def test_a_step_cannot_be_enqueued_alone(project):
    Path("steps.py").write_text(
        "from oxmill import App\napp = App('sqlite:///x.db')\n"
        "@app.step(name='one')\ndef one() -> None: ...\n",
        encoding="utf-8",
    )
    assert "start a pipeline" in run("enqueue", "one", "--app", "steps.py", code=2).stderr


def test_a_taken_id_is_exit_2(tmp_path):
    words = ("enqueue", "x", "--raw", "--id", "one", "--url", f"sqlite:///{tmp_path}/x.db")
    run(*words)
    assert "id 'one' belongs to" in run(*words, "-q", "other", code=2).stderr


@pytest.mark.parametrize("url", ["redis://x", "memory://"])
def test_a_store_without_sql_has_no_schema_to_print(url):
    assert "has no SQL schema" in run("db", "sql", "--url", url, code=2).stderr


@pytest.mark.parametrize("url", ["sqlite:///x.db", "postgresql://x/y", "mysql://x", "mariadb://x"])
def test_the_schema_of_every_sql_store_is_printed_without_it(url):
    assert "CREATE TABLE" in run("db", "sql", "--url", url).stdout


def test_version_names_what_is_in_use():
    assert "sqlite" in run("version").stdout


# -- output ----------------------------------------------------------------------------------------


def test_no_colour_off_a_terminal_and_none_with_no_color(project):
    plain = run("tasks", "--app", "nope.py", code=2, env={"CLICOLOR_FORCE": None})
    assert "\x1b" not in plain.stderr
    forced = run("tasks", "--app", "nope.py", code=2, env={"CLICOLOR_FORCE": "1"})
    assert "\x1b[31m" in forced.stderr
    off = run("tasks", "--app", "nope.py", code=2, env={"CLICOLOR_FORCE": "0"})
    assert "\x1b" not in off.stderr
    both = {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}
    assert "\x1b" not in run("tasks", "--app", "nope.py", code=2, env=both).stderr


def test_tables_have_colours_where_they_are_forced(tmp_path):
    url = ("--url", f"sqlite:///{tmp_path}/x.db")
    run("enqueue", "send", "--raw", "--delay", "1h", *url)
    forced = run("jobs", "list", *url, env={"CLICOLOR_FORCE": "1"}).stdout
    plain = run("jobs", "list", *url, env={"CLICOLOR_FORCE": None}).stdout
    assert "\x1b[90mscheduled\x1b[0m" in forced
    cells = [line.split()[:5] for line in plain.splitlines()]  # the others tell how long ago
    assert [line.split()[:5] for line in click.unstyle(forced).splitlines()] == cells
    assert "\x1b" not in plain


def test_a_reader_that_goes_away_leaves_no_traceback():
    command = f"{sys.executable} -m oxmill.cli version | true"
    done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
