-- Rules on tasks, groups and fields that hold now.
-- Parameters: now, most.
-- Result: target, scope, kind, reason, author, expires_at, rate, set_at.
SELECT target, scope, kind, reason, author, expires_at, rate, set_at
FROM oxmill_rules
WHERE scope IN ('task', 'group', 'field') AND (expires_at IS NULL OR expires_at > :now)
ORDER BY scope, target, kind
LIMIT :most;
