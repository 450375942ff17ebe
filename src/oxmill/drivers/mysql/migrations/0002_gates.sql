-- Gates: lanes of groups that take turns, jobs set aside, and what limits have been used up. A statement
-- that cannot be run twice is prepared only where it is still due.

-- `aside` is the gate that keeps a waiting job out of its lane. Waiting jobs of a group, or set aside, stand
-- on shelves of their own, so that plain claims do not come across them. `crowd` brings together all of a
-- queue that wait like this, and the running jobs of a group; other jobs have none.
SET @oxmill_change = IF(
    (
        SELECT COUNT(*) FROM information_schema.columns
        WHERE
            table_schema = DATABASE() AND table_name = 'oxmill_jobs' AND column_name = 'aside'
    ) = 0,
    'ALTER TABLE oxmill_jobs
        ADD COLUMN aside VARBINARY(220) AFTER group_name,
        MODIFY COLUMN shelf VARBINARY(440) AS (
            CASE
                WHEN state IN (''succeeded'', ''failed'', ''cancelled'') THEN CAST(state AS BINARY)
                WHEN state = ''waiting'' AND aside IS NOT NULL
                    THEN CONCAT(''aside '', queue, X''00'', aside)
                WHEN state = ''waiting'' AND group_name IS NOT NULL
                    THEN CONCAT(''lane '', queue, X''00'', group_name)
                ELSE CONCAT(CAST(state AS BINARY), '' '', queue)
            END
        ) STORED,
        ADD COLUMN crowd VARBINARY(440) AS (
            CASE
                WHEN state = ''waiting'' AND (group_name IS NOT NULL OR aside IS NOT NULL)
                    THEN CONCAT(''waiting '', queue)
                WHEN state = ''running'' AND group_name IS NOT NULL
                    THEN CONCAT(''running '', queue, X''00'', group_name)
            END
        ) STORED,
        ADD KEY oxmill_jobs_crowd (crowd, priority, place)',
    'DO 0'
);

PREPARE oxmill_change FROM @oxmill_change;

EXECUTE oxmill_change;

DEALLOCATE PREPARE oxmill_change;

-- Where waiting jobs of one group and priority stand; jobs without a group have the empty group. The
-- lane with the smallest turn is next; `served` counts the jobs it has given in this turn. It is
-- open at 0, else closed until `opens_at`, behind the gate of a job if `behind` names one. Only
-- claims make and change lanes, one claim of a queue at a time.
CREATE TABLE IF NOT EXISTS oxmill_lanes (
    group_name VARBINARY(200) NOT NULL,
    queue VARBINARY(200) NOT NULL,
    priority INT NOT NULL,
    turn BIGINT NOT NULL,
    served INT NOT NULL DEFAULT 0,
    opens_at BIGINT NOT NULL DEFAULT 0,
    behind VARBINARY(220),
    PRIMARY KEY (group_name, queue, priority),
    KEY oxmill_lanes_next (queue, opens_at, priority, turn, group_name),
    KEY oxmill_lanes_behind (behind)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

INSERT IGNORE INTO oxmill_lanes (group_name, queue, priority, turn)
SELECT group_name, queue, priority, MIN(place)
FROM oxmill_jobs
WHERE state = 'waiting' AND group_name IS NOT NULL
GROUP BY group_name, queue, priority;

-- What the next claim of a queue must know about its lanes, in the order in which it was written: a job
-- has joined one (`priority` and `place`), or one of the group has left the line or runs no longer. Rows
-- are only added, so that nobody waits for anybody.
CREATE TABLE IF NOT EXISTS oxmill_lane_news (
    number BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    queue VARBINARY(200) NOT NULL,
    group_name VARBINARY(200) NOT NULL,
    priority INT,
    place BIGINT,
    KEY oxmill_lane_news_of (queue, number)
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- Gates of jobs behind which jobs of a queue may be set aside, and when to look at them again; 0 for
-- now.
CREATE TABLE IF NOT EXISTS oxmill_asides (
    gate VARBINARY(220) NOT NULL,
    queue VARBINARY(200) NOT NULL,
    opens_at BIGINT NOT NULL,
    PRIMARY KEY (gate, queue),
    KEY oxmill_asides_open (queue, opens_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- What a gate has let through: `tat` is the moment until which its rate is used up. It is closed until
-- `closed_until` in any case, and says nothing any more from `idle_at` on.
CREATE TABLE IF NOT EXISTS oxmill_meters (
    queue VARBINARY(200) NOT NULL,
    scope VARBINARY(20) NOT NULL,
    target VARBINARY(200) NOT NULL,
    tat BIGINT NOT NULL,
    closed_until BIGINT NOT NULL,
    idle_at BIGINT NOT NULL,
    PRIMARY KEY (queue, scope, target),
    KEY oxmill_meters_idle (idle_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- A row is locked by who claims behind the gates of a queue: one claim at a time.
CREATE TABLE IF NOT EXISTS oxmill_gates (
    queue VARBINARY(200) NOT NULL PRIMARY KEY
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- Also only for one at a time: changes of rules on anything but queues, and use of throttles' meters.
INSERT IGNORE INTO oxmill_turns (name, number) VALUES ('rules', 0), ('throttles', 0);

-- What kinds of limits the settings hold, so that claims and settlements need not read them: 1 for any,
-- 2 for the queue's concurrency, 4 for that of groups.
SET @oxmill_change = IF(
    (
        SELECT COUNT(*) FROM information_schema.columns
        WHERE
            table_schema = DATABASE() AND table_name = 'oxmill_queue_settings'
            AND column_name = 'limits'
    ) = 0,
    'ALTER TABLE oxmill_queue_settings ADD COLUMN limits INT NOT NULL DEFAULT 0',
    'DO 0'
);

PREPARE oxmill_change FROM @oxmill_change;

EXECUTE oxmill_change;

DEALLOCATE PREPARE oxmill_change;

SET @oxmill_change = IF(
    (
        SELECT COUNT(*) FROM information_schema.statistics
        WHERE
            table_schema = DATABASE() AND table_name = 'oxmill_rules'
            AND index_name = 'oxmill_rules_scope'
    ) = 0,
    'ALTER TABLE oxmill_rules ADD KEY oxmill_rules_scope (scope)',
    'DO 0'
);

PREPARE oxmill_change FROM @oxmill_change;

EXECUTE oxmill_change;

DEALLOCATE PREPARE oxmill_change;
