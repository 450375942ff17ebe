-- The rules on these targets that hold now.
-- Parameters: targets, a JSON array of [scope, target]; now.
-- Result: target, scope, kind, reason, author, expires_at, rate, set_at.
SELECT r.target, r.scope, r.kind, r.reason, r.author, r.expires_at, r.rate, r.set_at
FROM json_array_elements(:targets::json) AS asked (value)
JOIN oxmill.rules AS r ON r.target = asked.value ->> 1 AND r.scope = asked.value ->> 0
WHERE r.expires_at IS NULL OR r.expires_at > :now::bigint;
