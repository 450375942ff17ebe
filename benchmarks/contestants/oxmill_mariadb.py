"""Oxmill on MariaDB, with its default settings."""

import sys

from benchmarks.contestant import main
from benchmarks.ours import contestant

CONTESTANT = contestant("Oxmill on MariaDB", "default settings; every commit is synced")

if __name__ == "__main__":
    main(CONTESTANT, sys.argv[1:])
