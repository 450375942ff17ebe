"""Oxmill on PostgreSQL, with its default settings."""

import sys

from benchmarks.contestant import main
from benchmarks.ours import contestant

CONTESTANT = contestant("Oxmill on PostgreSQL", "default settings; every commit is synced")

if __name__ == "__main__":
    main(CONTESTANT, sys.argv[1:])
