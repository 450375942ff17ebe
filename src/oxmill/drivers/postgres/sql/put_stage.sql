-- Stages are like this from now on.
-- Parameters: arrays of the columns, in this order.
INSERT INTO oxmill.stages (name, flow, touched_at, published, live)
SELECT r.name, r.flow, r.touched_at, r.published, r.live
FROM unnest(
    :name::text[], :flow::text[], :touched_at::bigint[], :published::integer[], :live::bigint[]
) AS r (name, flow, touched_at, published, live)
ON CONFLICT (name) DO UPDATE SET
    touched_at = excluded.touched_at,
    published = excluded.published,
    live = excluded.live;
