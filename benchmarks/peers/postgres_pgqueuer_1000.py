"""PgQueuer on PostgreSQL, in batches of 1,000."""
# /// script
# dependencies = ["pgqueuer[asyncpg]==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0"]
#
# [tool.bench]
# name = "PgQueuer, batch 1000"
# settings = "asyncpg, uvloop, batch_size 1000"
# loses = "nothing: run again when the heartbeat has been missing for 30 s"
# safe = true
# jobs = 20000
# ///

from benchmarks.peers.peer import main
from benchmarks.peers.postgres_pgqueuer import PgQueuerPeer


class Larger(PgQueuerPeer):
    batch = 1_000


if __name__ == "__main__":
    main(Larger)
