-- Edges are like this from now on; each takes the place of one between the same jobs.
-- Parameters: arrays of the columns, in this order.
INSERT INTO oxmill.edges (upstream, dependent, round, position, ok)
SELECT r.upstream, r.dependent, r.round, r.position, r.ok
FROM unnest(
    :upstream::text[], :dependent::bigint[], :round::integer[], :position::integer[], :ok::integer[]
) AS r (upstream, dependent, round, position, ok)
ON CONFLICT (dependent, upstream) DO UPDATE SET
    round = excluded.round,
    position = excluded.position,
    ok = excluded.ok;
