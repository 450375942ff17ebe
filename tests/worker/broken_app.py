"""An app that children cannot import."""

import os

if os.environ.get("OXMILL_TEST_BROKEN"):
    raise RuntimeError("no settings here")

from worker.child_app import app  # noqa: F401
