-- A rule is lifted, if it is there.
-- Parameters: target, scope, kind.
-- Result: the target.
DELETE FROM oxmill.rules
WHERE target = :target::text AND scope = :scope::text AND kind = :kind::text
RETURNING target;
