"""Oxmill on a SQLite file, with its default durable settings."""

import sys

from benchmarks.contestant import main
from benchmarks.ours import contestant

CONTESTANT = contestant("Oxmill on SQLite", "durable: WAL, synchronous=FULL")

if __name__ == "__main__":
    main(CONTESTANT, sys.argv[1:])
