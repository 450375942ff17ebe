"""`oxmill jobs`: look at jobs and change their fate."""

from __future__ import annotations

from oxmill.cli.framework import ListGroup
from oxmill.cli.jobs_look import explain_job, list_jobs, show_job, wait_for_jobs
from oxmill.cli.jobs_steer import cancel_jobs, edit_jobs, remove_jobs, retry_jobs

command = ListGroup(
    "jobs",
    help="List, show, explain, retry, cancel, edit, wait for and remove jobs.",
    commands={
        "list": list_jobs,
        "show": show_job,
        "explain": explain_job,
        "wait": wait_for_jobs,
        "retry": retry_jobs,
        "cancel": cancel_jobs,
        "edit": edit_jobs,
        "rm": remove_jobs,
    },
)
