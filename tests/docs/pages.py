"""Reads what has to be proved out of Markdown: code blocks, command lines, links."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

SKIP = re.compile(r"<!-- skip: (.+?) -->")
FENCE = re.compile(r"^```(\w*)\s*$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block. `line` is the number of its first line of content."""

    page: Path
    language: str
    line: int
    text: str
    skipped: str | None

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page):
    """All fenced blocks of a page, each with the reason not to run it, if it gives one."""
    found, start, language, reason, body = [], 0, "", None, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if fence and not start:
            start, language, body = number + 1, fence[1], []
        elif fence:
            found.append(Block(page, language, start, "\n".join(body), reason))
            start, reason = 0, None
        elif start:
            body.append(line)
        elif line.strip():
            skip = SKIP.search(line)
            reason = skip[1] if skip else None
    assert not start, f"{page}: a block is not closed"
    return found


def program(page):
    """The Python blocks of a page as one file, each on the lines that it has in the page."""
    lines = []
    for block in blocks(page):
        if block.language == "python" and not block.skipped:
            lines += [""] * (block.line - 1 - len(lines))
            lines += block.text.split("\n")
    return "\n".join(lines) + "\n" if lines else ""


def command_lines(page):
    """Every `oxmill ...` line of the shell blocks of a page, as words."""
    for block in blocks(page):
        if block.language not in {"sh", "bash", "console"}:
            continue
        for line in block.text.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            while words and "=" in words[0]:  # OXMILL_URL=... oxmill dev
                words = words[1:]
            if words and words[0] == "oxmill":
                cut = next(
                    (at for at, word in enumerate(words) if word in {"|", ">", "&&", "&"}), None
                )
                yield block, words[1:cut]


def links(page):
    """Links of a page that lead to files of this repository."""
    return [
        link
        for link in LINK.findall(re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL))
        if not re.match(r"[a-z]+:", link)
    ]


def anchors(page):
    """The anchors that the headings of a page make."""
    titles = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
