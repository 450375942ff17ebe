-- Flows: jobs that depend on each other, with one shared state. A job of a flow has `keep` -1: it is
-- kept as long as its flow, and no short way for plain jobs takes it.

CREATE TABLE flows (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    keep INTEGER,
    published INTEGER NOT NULL DEFAULT 0,
    live INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    ended_at INTEGER,
    prune_at INTEGER,
    fields TEXT NOT NULL
) STRICT;

CREATE INDEX flows_prune ON flows (prune_at) WHERE prune_at IS NOT NULL;
CREATE INDEX flows_name ON flows (name, seq);
CREATE INDEX flows_running ON flows (seq) WHERE ended_at IS NULL;
CREATE INDEX flows_ended ON flows (failed, seq) WHERE ended_at IS NOT NULL;

-- One row per field, so that two steps that write two fields do not undo each other.
CREATE TABLE flow_state (
    flow TEXT NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (flow, name)
) STRICT, WITHOUT ROWID;

-- An index over business attributes of flows; values are JSON, which tells 1 from "1".
CREATE TABLE flow_fields (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    flow TEXT NOT NULL,
    PRIMARY KEY (name, value, flow)
) STRICT, WITHOUT ROWID;

CREATE INDEX flow_fields_of ON flow_fields (flow);

-- A job as a part of its flow: what it waits for, and how that stands.
CREATE TABLE nodes (
    job INTEGER NOT NULL PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    flow TEXT NOT NULL,
    parent TEXT,
    stage TEXT,
    staged INTEGER NOT NULL,
    member TEXT,
    member_no INTEGER NOT NULL,
    reads TEXT,
    after_ids TEXT,
    after_join TEXT,
    waiting INTEGER NOT NULL,
    round INTEGER NOT NULL,
    wait_join TEXT,
    succeeded INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    open INTEGER NOT NULL,
    deadline_at INTEGER,
    resume TEXT
) STRICT;

CREATE INDEX nodes_flow ON nodes (flow, job);
CREATE INDEX nodes_stage ON nodes (stage, job) WHERE stage IS NOT NULL;
CREATE INDEX nodes_member ON nodes (member, member_no) WHERE member IS NOT NULL;
CREATE INDEX nodes_deadline ON nodes (deadline_at, job) WHERE deadline_at IS NOT NULL;

-- `dependent` waits, or has waited, for the end of `upstream`; `ok` is NULL while the edge is open.
-- Whoever changes edges into a job, or its node, has locked the job.
CREATE TABLE edges (
    dependent INTEGER NOT NULL,
    upstream TEXT NOT NULL,
    round INTEGER NOT NULL,
    position INTEGER NOT NULL,
    ok INTEGER,
    PRIMARY KEY (dependent, upstream)
) STRICT, WITHOUT ROWID;

CREATE INDEX edges_open ON edges (upstream, dependent) WHERE ok IS NULL;
CREATE INDEX edges_below ON edges (upstream);
CREATE INDEX edges_round ON edges (dependent, round, position);

CREATE TABLE stages (
    name TEXT NOT NULL PRIMARY KEY,
    flow TEXT NOT NULL,
    touched_at INTEGER NOT NULL,
    published INTEGER NOT NULL,
    live INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX stages_flow ON stages (flow);
CREATE INDEX stages_abandoned ON stages (touched_at, name) WHERE published = 0;

-- What ends and publications have set off and nobody has done yet, the oldest first.
CREATE TABLE ripples (
    n INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    ok INTEGER NOT NULL,
    round INTEGER NOT NULL,
    past INTEGER NOT NULL
) STRICT;

CREATE INDEX ripples_target ON ripples (target);
