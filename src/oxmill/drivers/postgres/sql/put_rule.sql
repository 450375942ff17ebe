-- Rules hold from now on.
-- Parameters: arrays of the columns, in this order.
INSERT INTO oxmill.rules (target, scope, kind, reason, author, expires_at, rate, set_at)
SELECT
    r.target, r.scope, r.kind, r.reason, r.author, r.expires_at, r.rate, r.set_at
FROM unnest(
    :target::text[], :scope::text[], :kind::text[], :reason::text[], :author::text[],
    :expires_at::bigint[], :rate::text[], :set_at::bigint[]
) AS r (target, scope, kind, reason, author, expires_at, rate, set_at)
ON CONFLICT (target, scope, kind) DO UPDATE SET
    reason = excluded.reason,
    author = excluded.author,
    expires_at = excluded.expires_at,
    rate = excluded.rate,
    set_at = excluded.set_at;
