-- The first schema. Moments and lengths of time are integers in microseconds; names are bytes, so
-- that they compare byte by byte; NULL means "not there" and never "unknown".

-- What happened to the counts, one row per queue that a transaction has changed. Nobody waits for
-- anybody here; housekeeping adds old rows up into oxmill_counts. The number of a row also is the
-- store's counter: it stands for 65,536 numbers of arrival, or places in line, that are its own.
CREATE TABLE IF NOT EXISTS oxmill_changes (
    number BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    queue VARBINARY(200) NOT NULL,
    held INT NOT NULL DEFAULT 0,
    scheduled INT NOT NULL DEFAULT 0,
    waiting INT NOT NULL DEFAULT 0,
    running INT NOT NULL DEFAULT 0,
    succeeded INT NOT NULL DEFAULT 0,
    failed INT NOT NULL DEFAULT 0,
    cancelled INT NOT NULL DEFAULT 0,
    ever_succeeded INT NOT NULL DEFAULT 0,
    ever_failed INT NOT NULL DEFAULT 0,
    ever_cancelled INT NOT NULL DEFAULT 0
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- How many jobs of a queue are in a state, and how many ever ended in it, but for oxmill_changes.
CREATE TABLE IF NOT EXISTS oxmill_counts (
    queue VARBINARY(200) NOT NULL PRIMARY KEY,
    held BIGINT NOT NULL,
    scheduled BIGINT NOT NULL,
    waiting BIGINT NOT NULL,
    running BIGINT NOT NULL,
    succeeded BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    cancelled BIGINT NOT NULL,
    ever_succeeded BIGINT NOT NULL,
    ever_failed BIGINT NOT NULL,
    ever_cancelled BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- One row per job. InnoDB has no partial indexes, so each job stands on one shelf, in one order:
-- live jobs on the shelf of their state and queue, in the order in which they are looked for; ended
-- ones on the shelf of their state, in the order of arrival. One index serves them all. What never
-- expires, or cannot any more, has the latest expiry of all.
CREATE TABLE IF NOT EXISTS oxmill_jobs (
    seq BIGINT NOT NULL PRIMARY KEY,
    id VARBINARY(200) NOT NULL,
    queue VARBINARY(200) NOT NULL,
    task VARBINARY(200) NOT NULL,
    state ENUM(
        'held', 'scheduled', 'waiting', 'running', 'succeeded', 'failed', 'cancelled'
    ) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    priority INT NOT NULL,
    place BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    enqueued_at BIGINT NOT NULL,
    expires_at BIGINT,
    max_attempts BIGINT NOT NULL,
    crash_limit BIGINT NOT NULL,
    keep BIGINT,
    unique_key VARBINARY(1000),
    group_name VARBINARY(200),
    attempt INT NOT NULL DEFAULT 0,
    nonce BIGINT NOT NULL DEFAULT 0,
    failures INT NOT NULL DEFAULT 0,
    crashes INT NOT NULL DEFAULT 0,
    cancel_requested TINYINT NOT NULL DEFAULT 0,
    last_outcome VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin,
    lease BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT,
    claimed_at BIGINT,
    worker VARBINARY(200),
    ended_at BIGINT,
    prune_at BIGINT,
    reason MEDIUMTEXT,
    extras LONGTEXT,
    error LONGTEXT,
    payload LONGBLOB NOT NULL,
    progress LONGBLOB,
    result LONGBLOB,
    shelf VARBINARY(220) AS (
        CASE
            WHEN state IN ('succeeded', 'failed', 'cancelled') THEN CAST(state AS BINARY)
            ELSE CONCAT(CAST(state AS BINARY), ' ', queue)
        END
    ) STORED,
    spot BIGINT AS (
        CASE state
            WHEN 'waiting' THEN priority
            WHEN 'scheduled' THEN due_at
            WHEN 'running' THEN lease_until
            ELSE seq
        END
    ) STORED,
    expiry BIGINT AS (
        CASE
            WHEN attempt = 0 AND state IN ('held', 'scheduled', 'waiting') AND expires_at IS NOT NULL
                THEN expires_at
            ELSE 9223372036854775807
        END
    ) STORED,
    UNIQUE KEY oxmill_jobs_id (id),
    KEY oxmill_jobs_shelf (shelf, spot, place),
    KEY oxmill_jobs_expiry (queue, expiry),
    KEY oxmill_jobs_prune (prune_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- Attempts that did not end in success. The newest attempt is read from the job's own row, so
-- that a job which succeeds the first time costs no row here.
CREATE TABLE IF NOT EXISTS oxmill_attempts (
    job BIGINT NOT NULL,
    attempt INT NOT NULL,
    worker VARBINARY(200) NOT NULL,
    claimed_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    outcome VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    error LONGTEXT,
    PRIMARY KEY (job, attempt)
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- An index over business attributes, and over tags under the empty name; the job's row has them too.
-- A value that is a number starts with '#', one that is text with '='.
CREATE TABLE IF NOT EXISTS oxmill_fields (
    name VARBINARY(200) NOT NULL,
    value VARBINARY(1001) NOT NULL,
    job BIGINT NOT NULL,
    PRIMARY KEY (name, value, job)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- Who holds a unique key: while `live`, and until `hold_until` in any case. A row whose holder is
-- empty holds nothing: it only was locked by who asked for the key.
CREATE TABLE IF NOT EXISTS oxmill_unique_keys (
    name VARBINARY(1000) NOT NULL PRIMARY KEY,
    holder VARBINARY(200) NOT NULL,
    live TINYINT NOT NULL,
    hold_until BIGINT,
    successor VARBINARY(200),
    KEY oxmill_unique_keys_used_up (live, hold_until)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS oxmill_rules (
    target VARBINARY(200) NOT NULL,
    scope VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    reason MEDIUMTEXT NOT NULL,
    author MEDIUMTEXT NOT NULL,
    expires_at BIGINT,
    rate VARCHAR(100),
    set_at BIGINT NOT NULL,
    PRIMARY KEY (target, scope, kind)
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- `keep_succeeded` is read out of the settings for the statement that completes jobs.
CREATE TABLE IF NOT EXISTS oxmill_queue_settings (
    queue VARBINARY(200) NOT NULL PRIMARY KEY,
    settings LONGTEXT NOT NULL,
    keep_succeeded BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS oxmill_schedules (
    name VARBINARY(200) NOT NULL PRIMARY KEY,
    schedule LONGTEXT NOT NULL,
    paused TINYINT NOT NULL,
    next_at BIGINT,
    last_at BIGINT,
    last_job VARBINARY(200),
    error LONGTEXT
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS oxmill_workers (
    id VARBINARY(200) NOT NULL PRIMARY KEY,
    started_at BIGINT NOT NULL,
    stale_at BIGINT NOT NULL,
    command VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    info LONGTEXT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- What only one transaction may do at a time, the last thing it does: number events, so that they
-- can be seen only in their order; add counts up.
CREATE TABLE IF NOT EXISTS oxmill_turns (
    name VARBINARY(20) NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

INSERT IGNORE INTO oxmill_turns (name, number) VALUES ('events', 0), ('folding', 0);

CREATE TABLE IF NOT EXISTS oxmill_events (
    seq BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    kind VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    target VARBINARY(1000) NOT NULL,
    author MEDIUMTEXT NOT NULL,
    detail MEDIUMTEXT NOT NULL,
    KEY oxmill_events_age (at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- Which store this is: a caller's own connection may be used if it reads the same here.
CREATE TABLE IF NOT EXISTS oxmill_identity (
    one TINYINT NOT NULL PRIMARY KEY,
    store CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

INSERT IGNORE INTO oxmill_identity (one, store) VALUES (1, REPLACE(UUID(), '-', ''));

-- Jobs as people read them: times as text (UTC), JSON payloads as text, fields and tags as JSON.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW oxmill_job_view AS
SELECT
    CONVERT(id USING utf8mb4) AS id,
    CONVERT(queue USING utf8mb4) AS queue,
    CONVERT(task USING utf8mb4) AS task,
    state,
    reason,
    priority,
    attempt,
    failures,
    crashes,
    TIMESTAMPADD(MICROSECOND, enqueued_at, TIMESTAMP'1970-01-01 00:00:00') AS enqueued,
    TIMESTAMPADD(MICROSECOND, due_at, TIMESTAMP'1970-01-01 00:00:00') AS due,
    TIMESTAMPADD(MICROSECOND, claimed_at, TIMESTAMP'1970-01-01 00:00:00') AS claimed,
    TIMESTAMPADD(MICROSECOND, lease_until, TIMESTAMP'1970-01-01 00:00:00') AS leased_until,
    TIMESTAMPADD(MICROSECOND, ended_at, TIMESTAMP'1970-01-01 00:00:00') AS ended,
    CONVERT(worker USING utf8mb4) AS worker,
    CONVERT(group_name USING utf8mb4) AS group_name,
    CONVERT(unique_key USING utf8mb4) AS unique_key,
    COALESCE(
        JSON_UNQUOTE(JSON_EXTRACT(extras, '$.content_type')), 'application/json'
    ) AS content_type,
    CASE
        WHEN JSON_EXTRACT(extras, '$.content_type') IS NULL THEN CONVERT(payload USING utf8mb4)
    END AS payload,
    COALESCE(JSON_EXTRACT(extras, '$.fields'), '{}') AS fields,
    COALESCE(JSON_EXTRACT(extras, '$.tags'), '[]') AS tags,
    CONVERT(result USING utf8mb4) AS result,
    JSON_UNQUOTE(JSON_EXTRACT(error, '$.type')) AS error_type,
    JSON_UNQUOTE(JSON_EXTRACT(error, '$.message')) AS error_message,
    seq
FROM oxmill_jobs;
