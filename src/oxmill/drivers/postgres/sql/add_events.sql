-- Records what people did and what went wrong. Whoever adds events does so alone until the end of
-- the transaction: numbers become visible in their order, and a reader misses none.
-- Parameters: arrays of at, kind, target, author and detail, in this order.
WITH turn AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtext('oxmill.events'))
)
INSERT INTO oxmill.events (at, kind, target, author, detail)
SELECT e.at, e.kind, e.target, e.author, e.detail
FROM turn
CROSS JOIN unnest(
    :at::bigint[], :kind::text[], :target::text[], :author::text[], :detail::text[]
) WITH ORDINALITY AS e (at, kind, target, author, detail, number)
ORDER BY e.number;
