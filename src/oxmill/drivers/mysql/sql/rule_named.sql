-- Whether a rule is there.
-- Parameters: target, scope, kind.
-- Result: the target.
SELECT target
FROM oxmill_rules
WHERE target = :target AND scope = :scope AND kind = :kind
FOR UPDATE;
