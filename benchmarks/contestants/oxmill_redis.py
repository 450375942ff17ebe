"""Oxmill on Redis, with its default settings."""

import sys

from benchmarks.contestant import main
from benchmarks.ours import contestant

CONTESTANT = contestant("Oxmill on Redis", "default settings; AOF, fsync every second")

if __name__ == "__main__":
    main(CONTESTANT, sys.argv[1:])
