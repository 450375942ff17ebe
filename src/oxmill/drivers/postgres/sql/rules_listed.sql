-- Rules on tasks, groups and fields that hold now.
-- Parameters: now, most.
-- Result: target, scope, kind, reason, author, expires_at, rate, set_at.
SELECT target, scope, kind, reason, author, expires_at, rate, set_at
FROM oxmill.rules
WHERE scope <> 'queue' AND (expires_at IS NULL OR expires_at > :now::bigint)
ORDER BY scope, target, kind
LIMIT :most::bigint;
