"""The reference is what the code says."""

import pytest
from reference import FOLDER, PAGES, render


@pytest.mark.parametrize("page", PAGES)
def test_the_reference_is_up_to_date(page):
    assert (FOLDER / page).read_text(encoding="utf-8") == render(page), "run: make docs"


def test_nothing_else_is_in_the_reference():
    assert {file.name for file in FOLDER.iterdir()} == set(PAGES)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("cli.md", ["oxmill jobs explain", "--dry-run", "| 130 |"]),
        ("errors.md", ["`LostLease`", "`StoreFull`"]),
        ("worker-options.md", ["`lease`", "`1m`", "`poll_most`"]),
        ("options.md", ["`middleware`", "`crash_limit`", "`run_at`", "`catch_up`"]),
        ("log-lines.md", ["**run failed**", "`traceback`"]),
        ("stores.md", ["`DURABLE`", "sqlite"]),
        ("api.md", ["## App", "`enqueue_many`, `aenqueue_many`"]),
    ],
)
def test_a_page_holds_what_it_is_for(page, words):
    text = render(page)
    assert [word for word in words if word not in text] == []
