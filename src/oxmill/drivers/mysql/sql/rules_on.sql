-- The rules on these targets that hold now.
-- Parameters: targets, a JSON array of [scope, target]; now.
-- Result: target, scope, kind, reason, author, expires_at, rate, set_at.
SELECT r.target, r.scope, r.kind, r.reason, r.author, r.expires_at, r.rate, r.set_at
FROM JSON_TABLE(
    :targets,
    '$[*]' COLUMNS (
        scope VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin PATH '$[0]',
        target VARBINARY(1000) PATH '$[1]'
    )
) AS asked
STRAIGHT_JOIN oxmill_rules AS r FORCE INDEX (PRIMARY)
    ON r.target = asked.target AND r.scope = asked.scope
WHERE r.expires_at IS NULL OR r.expires_at > :now;
