-- Flows: jobs that depend on each other, with one shared state. A job of a flow has `keep` -1: it is
-- kept as long as its flow, and no short way for plain jobs takes it.

CREATE TABLE oxmill.flows (
    seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at bigint NOT NULL,
    keep bigint,
    live bigint NOT NULL DEFAULT 0,
    ended_at bigint,
    prune_at bigint,
    published integer NOT NULL DEFAULT 0,
    lost integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    fields text COLLATE "C" NOT NULL
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 1
);

CREATE UNIQUE INDEX flows_id ON oxmill.flows (id);
CREATE INDEX flows_prune ON oxmill.flows (prune_at, seq) WHERE prune_at IS NOT NULL;
CREATE INDEX flows_name ON oxmill.flows (name, seq);

-- One row per field, so that two steps that write two fields do not undo each other.
CREATE TABLE oxmill.flow_state (
    flow text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (flow, name)
);

-- An index over business attributes of flows; values are JSON, which tells 1 from "1".
CREATE TABLE oxmill.flow_fields (
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    flow text COLLATE "C" NOT NULL,
    PRIMARY KEY (name, value, flow)
);

CREATE INDEX flow_fields_of ON oxmill.flow_fields (flow);

-- A job as a part of its flow: what it waits for, and how that stands. Whoever changes a node, or
-- the edges into its job, has locked the job.
CREATE TABLE oxmill.nodes (
    job bigint NOT NULL PRIMARY KEY,
    member_no bigint NOT NULL,
    deadline_at bigint,
    staged integer NOT NULL,
    waiting integer NOT NULL,
    round integer NOT NULL,
    succeeded integer NOT NULL,
    failed integer NOT NULL,
    open integer NOT NULL,
    id text COLLATE "C" NOT NULL,
    flow text COLLATE "C" NOT NULL,
    parent text COLLATE "C",
    stage text COLLATE "C",
    member text COLLATE "C",
    reads text COLLATE "C",
    after_ids text COLLATE "C",
    after_join text COLLATE "C",
    wait_join text COLLATE "C",
    resume text COLLATE "C"
) WITH (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 1
);

CREATE UNIQUE INDEX nodes_id ON oxmill.nodes (id);
CREATE INDEX nodes_flow ON oxmill.nodes (flow, job);
CREATE INDEX nodes_stage ON oxmill.nodes (stage, job) WHERE stage IS NOT NULL;
CREATE INDEX nodes_member ON oxmill.nodes (member, member_no) WHERE member IS NOT NULL;
CREATE INDEX nodes_deadline ON oxmill.nodes (deadline_at, job) WHERE deadline_at IS NOT NULL;

-- `dependent` waits, or has waited, for the end of `upstream`; `ok` is NULL while the edge is open.
CREATE TABLE oxmill.edges (
    dependent bigint NOT NULL,
    round integer NOT NULL,
    position integer NOT NULL,
    ok integer,
    upstream text COLLATE "C" NOT NULL,
    PRIMARY KEY (dependent, upstream)
) WITH (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 1
);

CREATE INDEX edges_open ON oxmill.edges (upstream, dependent) WHERE ok IS NULL;
CREATE INDEX edges_below ON oxmill.edges (upstream);
CREATE INDEX edges_round ON oxmill.edges (dependent, round, position);

CREATE TABLE oxmill.stages (
    touched_at bigint NOT NULL,
    live bigint NOT NULL,
    published integer NOT NULL,
    name text COLLATE "C" NOT NULL PRIMARY KEY,
    flow text COLLATE "C" NOT NULL
);

CREATE INDEX stages_flow ON oxmill.stages (flow);
CREATE INDEX stages_abandoned ON oxmill.stages (touched_at, name) WHERE published = 0;

-- What ends and publications have set off and nobody has done yet, the oldest first.
CREATE TABLE oxmill.ripples (
    n bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ok integer NOT NULL,
    round integer NOT NULL,
    past integer NOT NULL,
    kind text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL
);

CREATE INDEX ripples_target ON oxmill.ripples (target);
