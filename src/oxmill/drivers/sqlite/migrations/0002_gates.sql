-- Gates: lanes of groups that take turns, jobs set aside, and what limits have been used up.

-- The gate that keeps a waiting job out of its lane; NULL while it stands in it.
ALTER TABLE jobs ADD COLUMN aside TEXT;

-- Plain claims read only jobs that have no group and are not set aside. All others that wait stand in
-- `jobs_apart` together, and in the index of their lane or of what they are set aside behind.
DROP INDEX jobs_claim;
CREATE INDEX jobs_claim ON jobs (queue, priority, place)
    WHERE state = 'waiting' AND group_name IS NULL AND aside IS NULL;
CREATE INDEX jobs_apart ON jobs (queue, priority, place)
    WHERE state = 'waiting' AND (group_name IS NOT NULL OR aside IS NOT NULL);
CREATE INDEX jobs_lane ON jobs (queue, group_name, aside, priority, place)
    WHERE state = 'waiting' AND group_name IS NOT NULL;
CREATE INDEX jobs_aside ON jobs (queue, aside, priority, place)
    WHERE state = 'waiting' AND aside IS NOT NULL;
CREATE INDEX jobs_running ON jobs (queue, group_name)
    WHERE state = 'running' AND group_name IS NOT NULL;

-- Where waiting jobs of one group and priority stand; jobs without a group have the empty group. The
-- lane with the smallest turn is next; `served` counts the jobs it has given in this turn. It is
-- open at 0, else closed until `opens_at`, behind the gate of a job if `behind` names one.
CREATE TABLE lanes (
    group_name TEXT NOT NULL,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    served INTEGER NOT NULL DEFAULT 0,
    opens_at INTEGER NOT NULL DEFAULT 0,
    behind TEXT,
    PRIMARY KEY (group_name, queue, priority)
) STRICT, WITHOUT ROWID;

CREATE INDEX lanes_open ON lanes (queue, priority, turn) WHERE opens_at = 0;
CREATE INDEX lanes_parked ON lanes (queue, opens_at) WHERE opens_at > 0;
CREATE INDEX lanes_behind ON lanes (queue) WHERE behind IS NOT NULL;

INSERT INTO lanes (group_name, queue, priority, turn)
SELECT group_name, queue, priority, min(place)
FROM jobs
WHERE state = 'waiting' AND group_name IS NOT NULL
GROUP BY group_name, queue, priority;

-- Gates of jobs behind which jobs of a queue may be set aside, and when to look at them again; 0 for
-- now.
CREATE TABLE asides (
    gate TEXT NOT NULL,
    queue TEXT NOT NULL,
    opens_at INTEGER NOT NULL,
    PRIMARY KEY (gate, queue)
) STRICT, WITHOUT ROWID;

CREATE INDEX asides_open ON asides (queue, opens_at);

-- What a gate has let through: `tat` is the moment until which its rate is used up. It is closed until
-- `closed_until` in any case, and says nothing any more from `idle_at` on.
CREATE TABLE meters (
    queue TEXT NOT NULL,
    scope TEXT NOT NULL,
    target TEXT NOT NULL,
    tat INTEGER NOT NULL,
    closed_until INTEGER NOT NULL,
    idle_at INTEGER NOT NULL,
    PRIMARY KEY (queue, scope, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX meters_idle ON meters (idle_at);

-- What kinds of limits the settings hold, so that claims and settlements need not read them: 1 for any,
-- 2 for the queue's concurrency, 4 for that of groups.
ALTER TABLE queue_settings ADD COLUMN limits INTEGER NOT NULL DEFAULT 0;

CREATE INDEX rules_scoped ON rules (scope) WHERE scope <> 'queue';
