"""`python -m oxmill.cli` is the `oxmill` script."""

from oxmill.cli.main import run

run()
