-- Ripples that were left for sweeps, beyond a number, the oldest first, locked.
-- Parameters: after, most.
-- Result: n, kind, target, ok, round, past.
SELECT r.n, r.kind, r.target, r.ok, r.round, r.past
FROM oxmill.ripples AS r
WHERE r.n > :after::bigint
ORDER BY r.n
LIMIT :most::bigint
FOR UPDATE OF r;
