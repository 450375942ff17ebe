-- What has become of lanes.
-- Parameters: arrays of group_name, queue, priority, turn, served, opens_at and behind, in this order.
INSERT INTO oxmill.lanes (group_name, queue, priority, turn, served, opens_at, behind)
SELECT r.group_name, r.queue, r.priority, r.turn, r.served, r.opens_at, r.behind
FROM unnest(
    :group_name::text[], :queue::text[], :priority::integer[], :turn::bigint[],
    :served::integer[], :opens_at::bigint[], :behind::text[]
) AS r (group_name, queue, priority, turn, served, opens_at, behind)
ON CONFLICT (group_name, queue, priority) DO UPDATE SET
    turn = excluded.turn,
    served = excluded.served,
    opens_at = excluded.opens_at,
    behind = excluded.behind;
