-- Whether any rule on tasks or fields holds now, and whether any on groups.
-- Parameters: now.
-- Result: 1 or 0, 1 or 0.
SELECT
    EXISTS (
        SELECT 1 FROM oxmill_rules AS r FORCE INDEX (oxmill_rules_scope)
        WHERE r.scope IN ('task', 'field') AND (r.expires_at IS NULL OR r.expires_at > :now)
    ),
    EXISTS (
        SELECT 1 FROM oxmill_rules AS r FORCE INDEX (oxmill_rules_scope)
        WHERE r.scope = 'group' AND (r.expires_at IS NULL OR r.expires_at > :now)
    );
