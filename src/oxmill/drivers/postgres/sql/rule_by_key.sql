-- One rule, as it stands, and as it will stay until the end of the transaction.
-- Parameters: target, scope, kind.
-- Result: target, scope, kind, reason, author, expires_at, rate, set_at.
SELECT target, scope, kind, reason, author, expires_at, rate, set_at
FROM oxmill.rules
WHERE target = :target::text AND scope = :scope::text AND kind = :kind::text
FOR UPDATE;
