-- Flows: jobs that depend on each other, with one shared state. A job of a flow has `keep` -1: it is
-- kept as long as its flow, and no short way for plain jobs takes it.

CREATE TABLE IF NOT EXISTS oxmill_flows (
    seq BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    id VARBINARY(200) NOT NULL,
    name VARBINARY(200) NOT NULL,
    started_at BIGINT NOT NULL,
    keep BIGINT,
    published TINYINT NOT NULL DEFAULT 0,
    live BIGINT NOT NULL DEFAULT 0,
    lost TINYINT NOT NULL DEFAULT 0,
    failed TINYINT NOT NULL DEFAULT 0,
    ended_at BIGINT,
    prune_at BIGINT,
    fields LONGTEXT NOT NULL,
    UNIQUE KEY oxmill_flows_id (id),
    KEY oxmill_flows_prune (prune_at),
    KEY oxmill_flows_name (name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- One row per field, so that two steps that write two fields do not undo each other.
CREATE TABLE IF NOT EXISTS oxmill_flow_state (
    flow VARBINARY(200) NOT NULL,
    name VARBINARY(200) NOT NULL,
    value LONGBLOB NOT NULL,
    PRIMARY KEY (flow, name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- An index over business attributes of flows; values are JSON, which tells 1 from "1".
CREATE TABLE IF NOT EXISTS oxmill_flow_fields (
    name VARBINARY(200) NOT NULL,
    value VARBINARY(2100) NOT NULL,
    flow VARBINARY(200) NOT NULL,
    PRIMARY KEY (name, value, flow),
    KEY oxmill_flow_fields_of (flow)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- A job as a part of its flow: what it waits for, and how that stands. Whoever changes a node, or
-- the edges into its job, has locked the job.
CREATE TABLE IF NOT EXISTS oxmill_nodes (
    job BIGINT NOT NULL PRIMARY KEY,
    id VARBINARY(200) NOT NULL,
    flow VARBINARY(200) NOT NULL,
    parent VARBINARY(200),
    stage VARBINARY(200),
    staged TINYINT NOT NULL,
    `member` VARBINARY(200),
    member_no BIGINT NOT NULL,
    `reads` LONGTEXT,
    after_ids LONGTEXT,
    after_join LONGTEXT,
    waiting TINYINT NOT NULL,
    `round` INT NOT NULL,
    wait_join LONGTEXT,
    succeeded INT NOT NULL,
    failed INT NOT NULL,
    `open` INT NOT NULL,
    deadline_at BIGINT,
    resume VARBINARY(200),
    UNIQUE KEY oxmill_nodes_id (id),
    KEY oxmill_nodes_flow (flow, job),
    KEY oxmill_nodes_stage (stage, job),
    KEY oxmill_nodes_member (`member`, member_no),
    KEY oxmill_nodes_deadline (deadline_at, job)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- `dependent` waits, or has waited, for the end of `upstream`; `ok` is NULL while the edge is open.
CREATE TABLE IF NOT EXISTS oxmill_edges (
    dependent BIGINT NOT NULL,
    upstream VARBINARY(200) NOT NULL,
    `round` INT NOT NULL,
    position INT NOT NULL,
    ok TINYINT,
    PRIMARY KEY (dependent, upstream),
    KEY oxmill_edges_below (upstream, ok, dependent),
    KEY oxmill_edges_round (dependent, `round`, position)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS oxmill_stages (
    name VARBINARY(200) NOT NULL PRIMARY KEY,
    flow VARBINARY(200) NOT NULL,
    touched_at BIGINT NOT NULL,
    published TINYINT NOT NULL,
    live BIGINT NOT NULL,
    KEY oxmill_stages_flow (flow),
    KEY oxmill_stages_abandoned (published, touched_at, name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;

-- What ends and publications have set off and nobody has done yet, the oldest first.
CREATE TABLE IF NOT EXISTS oxmill_ripples (
    n BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    target VARBINARY(200) NOT NULL,
    ok TINYINT NOT NULL,
    `round` INT NOT NULL,
    past INT NOT NULL,
    KEY oxmill_ripples_target (target)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin;
