-- A rule is lifted, if it is there.
-- Parameters: target, scope, kind.
DELETE FROM oxmill_rules WHERE target = :target AND scope = :scope AND kind = :kind;
