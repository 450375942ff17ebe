-- The first schema. Moments and lengths of time are integers in microseconds; names are compared
-- byte by byte; NULL means "not there" and never "unknown".

-- How many jobs of a queue are in a state (`n`) and how many ever ended in it (`total`); and, under
-- the empty queue, the number drawn last: the order of arrival and the places in line. They stand
-- together because most transactions change both, and then write one page.
CREATE TABLE counters (
    queue TEXT NOT NULL,
    name TEXT NOT NULL,
    n INTEGER NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (queue, name)
) STRICT, WITHOUT ROWID;

INSERT INTO counters (queue, name, n, total) VALUES ('', 'seq', 0, 0);

-- One row per job. The wide columns stand last, so that decisions need not read past them.
CREATE TABLE jobs (
    seq INTEGER NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    queue TEXT NOT NULL,
    task TEXT NOT NULL,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    place INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    enqueued_at INTEGER NOT NULL,
    expires_at INTEGER,
    max_attempts INTEGER NOT NULL,
    crash_limit INTEGER NOT NULL,
    keep INTEGER,
    unique_key TEXT,
    group_name TEXT,
    reason TEXT,
    attempt INTEGER NOT NULL DEFAULT 0,
    nonce INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    last_outcome TEXT,
    lease INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER,
    claimed_at INTEGER,
    worker TEXT,
    ended_at INTEGER,
    prune_at INTEGER,
    extras TEXT,
    error TEXT,
    payload BLOB NOT NULL,
    progress BLOB,
    result BLOB
) STRICT;

-- Each index serves the query it is named for, and holds only the rows that query is about.
CREATE INDEX jobs_claim ON jobs (queue, priority, place) WHERE state = 'waiting';
CREATE INDEX jobs_due ON jobs (queue, due_at) WHERE state = 'scheduled';
CREATE INDEX jobs_lease ON jobs (queue, lease_until) WHERE state = 'running';
CREATE INDEX jobs_held ON jobs (queue) WHERE state = 'held';
CREATE INDEX jobs_expiry ON jobs (queue, expires_at)
    WHERE expires_at IS NOT NULL AND attempt = 0 AND state IN ('held', 'scheduled', 'waiting');
CREATE INDEX jobs_ended ON jobs (state, seq) WHERE state IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX jobs_prune ON jobs (prune_at) WHERE prune_at IS NOT NULL;

-- Attempts that did not end in success. The newest attempt is read from the job's own row, so
-- that a job which succeeds the first time costs no row here.
CREATE TABLE attempts (
    job INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    worker TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    error TEXT,
    PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

-- An index over business attributes, and over tags under the empty name; the job's row has them too.
CREATE TABLE fields (
    name TEXT NOT NULL,
    value ANY NOT NULL,
    job INTEGER NOT NULL,
    PRIMARY KEY (name, value, job)
) STRICT, WITHOUT ROWID;

-- Who holds a unique key: while `live`, and until `hold_until` in any case.
CREATE TABLE unique_keys (
    key TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    live INTEGER NOT NULL,
    hold_until INTEGER,
    successor TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX unique_keys_used_up ON unique_keys (hold_until)
    WHERE live = 0 AND successor IS NULL;

CREATE TABLE rules (
    target TEXT NOT NULL,
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    author TEXT NOT NULL,
    expires_at INTEGER,
    rate TEXT,
    set_at INTEGER NOT NULL,
    PRIMARY KEY (target, scope, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_settings (
    queue TEXT NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE schedules (
    name TEXT NOT NULL PRIMARY KEY,
    schedule TEXT NOT NULL,
    paused INTEGER NOT NULL,
    next_at INTEGER,
    last_at INTEGER,
    last_job TEXT,
    error TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE workers (
    id TEXT NOT NULL PRIMARY KEY,
    started_at INTEGER NOT NULL,
    stale_at INTEGER NOT NULL,
    command TEXT NOT NULL,
    info TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    author TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;

CREATE INDEX events_age ON events (at);

-- Jobs as people read them: times as text (UTC), JSON payloads as text, fields and tags as JSON.
CREATE VIEW job_view AS
SELECT
    id,
    queue,
    task,
    state,
    reason,
    priority,
    attempt,
    failures,
    crashes,
    strftime('%Y-%m-%dT%H:%M:%fZ', enqueued_at / 1e6, 'unixepoch') AS enqueued,
    strftime('%Y-%m-%dT%H:%M:%fZ', due_at / 1e6, 'unixepoch') AS due,
    strftime('%Y-%m-%dT%H:%M:%fZ', claimed_at / 1e6, 'unixepoch') AS claimed,
    strftime('%Y-%m-%dT%H:%M:%fZ', lease_until / 1e6, 'unixepoch') AS leased_until,
    strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1e6, 'unixepoch') AS ended,
    worker,
    group_name,
    unique_key,
    coalesce(json_extract(extras, '$.content_type'), 'application/json') AS content_type,
    CASE
        WHEN json_extract(extras, '$.content_type') IS NULL THEN CAST(payload AS TEXT)
        ELSE payload
    END AS payload,
    coalesce(json_extract(extras, '$.fields'), '{}') AS fields,
    coalesce(json_extract(extras, '$.tags'), '[]') AS tags,
    CAST(result AS TEXT) AS result,
    json_extract(error, '$.type') AS error_type,
    json_extract(error, '$.message') AS error_message,
    seq
FROM jobs;
