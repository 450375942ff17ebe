-- Less is written with every step of a flow; and steps that were settled are told together, not each in a row of
-- its own.

-- A job's part in its flow is found by the job's number, to which the id leads. Code of the last version looks
-- through all parts where it asks for one by id.
DROP INDEX oxmill.nodes_id;

-- Who waits for whom is asked while the jobs themselves are not written yet.
CREATE INDEX nodes_waiting ON oxmill.nodes (id) WHERE waiting = 1;

-- Flows that the last steps of a turn have ended, and when they are to go: one row for all of them, instead of
-- a `prune_at` in each, which had to be entered in every index of `flows`. It counts for those that ended then and
-- have not gone on since. Whoever ends a flow otherwise, the last version of the code included, writes `prune_at`.
CREATE TABLE oxmill.closings (
    prune_at bigint NOT NULL,
    ended_at bigint NOT NULL,
    flows text[] COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

CREATE INDEX closings_prune ON oxmill.closings (prune_at);
