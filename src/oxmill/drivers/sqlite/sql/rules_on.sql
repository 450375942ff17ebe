-- The rules on these targets that hold now.
-- Parameters: targets, a JSON array of [scope, target]; now.
-- Result: target, scope, kind, reason, author, expires_at, rate, set_at.
SELECT r.target, r.scope, r.kind, r.reason, r.author, r.expires_at, r.rate, r.set_at
FROM json_each(:targets) AS asked
CROSS JOIN rules AS r
    ON r.scope = json_extract(asked.value, '$[0]') AND r.target = json_extract(asked.value, '$[1]')
WHERE r.expires_at IS NULL OR r.expires_at > :now;
