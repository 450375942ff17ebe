-- Whether any rule on tasks or fields holds now, and whether any on groups.
-- Parameters: now.
-- Result: 1 or 0, 1 or 0.
SELECT
    EXISTS (
        SELECT 1 FROM rules INDEXED BY rules_scoped
        WHERE
            scope <> 'queue'
            AND scope IN ('task', 'field')
            AND (expires_at IS NULL OR expires_at > :now)
    ),
    EXISTS (
        SELECT 1 FROM rules INDEXED BY rules_scoped
        WHERE scope <> 'queue' AND scope = 'group' AND (expires_at IS NULL OR expires_at > :now)
    );
