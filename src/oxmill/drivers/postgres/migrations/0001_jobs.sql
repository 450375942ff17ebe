-- The first schema. Moments and lengths of time are integers in microseconds; names are compared
-- byte by byte; NULL means "not there" and never "unknown". The schema is called oxmill unless the
-- URL names another.

-- Numbers of arrival and places in line. One at a time: order is the order of drawing.
CREATE SEQUENCE oxmill.numbers CACHE 1;

-- One row per job, rewritten at each change of state: dead versions are cleared early. Numbers stand
-- first, so that no space is lost to their alignment.
CREATE TABLE oxmill.jobs (
    seq bigint NOT NULL PRIMARY KEY,
    place bigint NOT NULL,
    due_at bigint NOT NULL,
    enqueued_at bigint NOT NULL,
    expires_at bigint,
    keep bigint,
    nonce bigint NOT NULL DEFAULT 0,
    lease bigint NOT NULL DEFAULT 0,
    lease_until bigint,
    claimed_at bigint,
    ended_at bigint,
    prune_at bigint,
    priority integer NOT NULL,
    max_attempts integer NOT NULL,
    crash_limit integer NOT NULL,
    attempt integer NOT NULL DEFAULT 0,
    failures integer NOT NULL DEFAULT 0,
    crashes integer NOT NULL DEFAULT 0,
    cancel_requested integer NOT NULL DEFAULT 0,
    id text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    unique_key text COLLATE "C",
    group_name text COLLATE "C",
    reason text COLLATE "C",
    last_outcome text COLLATE "C",
    worker text COLLATE "C",
    extras text COLLATE "C",
    error text COLLATE "C",
    payload bytea NOT NULL,
    progress bytea,
    result bytea
) WITH (
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_analyze_threshold = 1000,
    autovacuum_vacuum_cost_delay = 1
);

-- PostgreSQL 12 does not look at new rows for this, and knows no such setting.
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 130000 THEN
        ALTER TABLE oxmill.jobs SET (autovacuum_vacuum_insert_scale_factor = 0.05);
    END IF;
END
$$;

-- Each index serves the query it is named for, and holds only the rows that query is about. Only
-- running jobs have a `lease_until`; that index is not named by their state, or a search for running
-- jobs by id could be led through it.
CREATE UNIQUE INDEX jobs_id ON oxmill.jobs (id);
CREATE INDEX jobs_claim ON oxmill.jobs (queue, priority, place) WHERE state = 'waiting';
CREATE INDEX jobs_due ON oxmill.jobs (queue, due_at, seq) WHERE state = 'scheduled';
CREATE INDEX jobs_lease ON oxmill.jobs (queue, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX jobs_held ON oxmill.jobs (queue) WHERE state = 'held';
CREATE INDEX jobs_expiry ON oxmill.jobs (queue, expires_at)
    WHERE expires_at IS NOT NULL AND attempt = 0 AND state IN ('held', 'scheduled', 'waiting');
CREATE INDEX jobs_ended ON oxmill.jobs (state, seq)
    WHERE state IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX jobs_prune ON oxmill.jobs (prune_at) WHERE prune_at IS NOT NULL;

-- Waiting jobs whose claim frees a unique key. A claim looks here first and mostly finds nothing.
CREATE INDEX jobs_frees_key ON oxmill.jobs (queue)
    WHERE state = 'waiting' AND unique_key IS NOT NULL AND extras LIKE '%"until":"started"%';

-- By how much transactions have changed the counts. Rows are only added, so that nobody waits for
-- anybody; housekeeping adds them up in `counts`. What counts is the sum over both.
CREATE TABLE oxmill.count_changes (
    queue text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    total bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- How many jobs of a queue are in a state (`n`) and how many ever ended in it (`total`).
CREATE TABLE oxmill.counts (
    queue text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    total bigint NOT NULL,
    PRIMARY KEY (queue, name)
) WITH (fillfactor = 50);

-- Attempts that did not end in success. The newest attempt is read from the job's own row, so
-- that a job which succeeds the first time costs no row here.
CREATE TABLE oxmill.attempts (
    job bigint NOT NULL,
    attempt integer NOT NULL,
    worker text COLLATE "C" NOT NULL,
    claimed_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    error text COLLATE "C",
    PRIMARY KEY (job, attempt)
);

-- An index over business attributes, and over tags under the empty name; the job's row has them
-- too. A value is kept as JSON, so that the number 1 and the text "1" differ.
CREATE TABLE oxmill.fields (
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    job bigint NOT NULL,
    PRIMARY KEY (name, value, job)
);

-- Who holds a unique key: while `live`, and until `hold_until` in any case.
CREATE TABLE oxmill.unique_keys (
    key text COLLATE "C" NOT NULL PRIMARY KEY,
    holder text COLLATE "C" NOT NULL,
    live integer NOT NULL,
    hold_until bigint,
    successor text COLLATE "C"
);

CREATE INDEX unique_keys_used_up ON oxmill.unique_keys (hold_until)
    WHERE live = 0 AND successor IS NULL;

CREATE TABLE oxmill.rules (
    target text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    author text COLLATE "C" NOT NULL,
    expires_at bigint,
    rate text COLLATE "C",
    set_at bigint NOT NULL,
    PRIMARY KEY (target, scope, kind)
);

CREATE TABLE oxmill.queue_settings (
    queue text COLLATE "C" NOT NULL PRIMARY KEY,
    settings text COLLATE "C" NOT NULL,
    keep_succeeded bigint GENERATED ALWAYS AS (((settings::json) ->> 'keep_succeeded')::bigint) STORED
);

CREATE TABLE oxmill.schedules (
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    schedule text COLLATE "C" NOT NULL,
    paused integer NOT NULL,
    next_at bigint,
    last_at bigint,
    last_job text COLLATE "C",
    error text COLLATE "C"
);

CREATE TABLE oxmill.workers (
    id text COLLATE "C" NOT NULL PRIMARY KEY,
    started_at bigint NOT NULL,
    stale_at bigint NOT NULL,
    command text COLLATE "C" NOT NULL,
    info text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE oxmill.events (
    seq bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    author text COLLATE "C" NOT NULL,
    detail text COLLATE "C" NOT NULL
);

CREATE INDEX events_age ON oxmill.events (at);

-- Jobs as people read them: times with time zone, JSON payloads and results as JSON text, fields
-- and tags as JSON.
CREATE VIEW oxmill.job_view AS
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
    to_timestamp(enqueued_at / 1e6) AS enqueued,
    to_timestamp(due_at / 1e6) AS due,
    to_timestamp(claimed_at / 1e6) AS claimed,
    to_timestamp(lease_until / 1e6) AS leased_until,
    to_timestamp(ended_at / 1e6) AS ended,
    worker,
    group_name,
    unique_key,
    coalesce(extras::json ->> 'content_type', 'application/json') AS content_type,
    CASE
        WHEN extras IS NULL OR extras::json ->> 'content_type' IS NULL
            THEN convert_from(payload, 'UTF8')
    END AS payload,
    payload AS payload_bytes,
    coalesce(extras::json -> 'fields', '{}') AS fields,
    coalesce(extras::json -> 'tags', '[]') AS tags,
    result,
    error::json ->> 'type' AS error_type,
    error::json ->> 'message' AS error_message,
    seq
FROM oxmill.jobs;

-- Tells this store from any other: one row, written once.
CREATE TABLE oxmill.identity (
    one integer NOT NULL PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    store text COLLATE "C" NOT NULL
);

INSERT INTO oxmill.identity (store) VALUES (md5(random()::text || clock_timestamp()::text));
