"""Runs a program as a process of its own, with a bound."""

import os
import signal
import subprocess
import sys

PATIENCE = 90.0


def run(file, folder, **env):
    """Run a Python file in a folder. If it hangs, its threads tell where on stderr."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-X", "faulthandler", str(file)],
        cwd=folder,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
