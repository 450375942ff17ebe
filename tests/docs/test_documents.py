"""The documents cannot lie: their code runs, their commands exist, their links lead somewhere."""

import os

import click
import pytest
from pages import PAGES, ROOT, anchors, blocks, command_lines, links, program
from running import run

from oxmill.cli.main import main

MOST_SKIPS = 5
LANGUAGES = {"python", "sh", "console", "toml", "text", "json", "sql", "ini", "yaml"}

PROGRAMS = [page for page in PAGES if program(page)]


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PROGRAMS, ids=name)
def test_the_python_of_a_page_runs_from_top_to_bottom(page, tmp_path):
    file = tmp_path / "app.py"
    file.write_text(program(page), encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])  # this tree, whatever is installed
    done = run(file, tmp_path, PYTHONPATH=path)
    assert done.returncode == 0, f"{name(page)} (line numbers as in the page)\n{done.stderr}"


def test_there_are_programs_to_run():
    assert ROOT / "README.md" in PROGRAMS


def test_few_blocks_are_skipped_and_each_says_why():
    skipped = [str(block) for page in PAGES for block in blocks(page) if block.skipped]
    assert len(skipped) <= MOST_SKIPS, skipped


def test_every_block_names_a_known_language():
    strange = [
        f"{block}: {block.language or 'no language'}"
        for page in PAGES
        for block in blocks(page)
        if block.language not in LANGUAGES
    ]
    assert strange == []


def parse(words):
    """Parse a command line to its end without running it; the name of the command."""
    command, parent, path = main, None, ["oxmill"]
    while True:
        context = command.make_context(path[-1], list(words), parent=parent)
        if not isinstance(command, click.Group):
            return " ".join(path)
        rest = [*context._protected_args, *context.args]
        if not rest:
            return " ".join(path)
        found, command, words = command.resolve_command(context, rest)
        path.append(found)
        parent = context


LINES = [pytest.param(words, id=f"{at}") for page in PAGES for at, words in command_lines(page)]


@pytest.mark.parametrize("words", LINES)
def test_a_command_line_in_the_documents_exists(words):
    if "--help" in words:
        words = [word for word in words if word != "--help"]
    parse(words)


def test_a_command_line_that_does_not_exist_is_seen():
    with pytest.raises(click.UsageError):
        parse(["jobs", "lst"])
    with pytest.raises(click.UsageError):
        parse(["jobs", "list", "--no-such-option"])


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name(page)}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{name(page)}: {link}"
