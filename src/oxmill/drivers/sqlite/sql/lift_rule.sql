-- A rule is lifted, if it is there.
-- Parameters: target, scope, kind.
-- Result: the target.
DELETE FROM rules WHERE target = :target AND scope = :scope AND kind = :kind RETURNING target;
