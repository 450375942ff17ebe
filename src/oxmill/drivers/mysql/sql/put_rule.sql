-- A rule holds from now on.
-- Parameters: the columns, in this order.
REPLACE INTO oxmill_rules (target, scope, kind, reason, author, expires_at, rate, set_at)
VALUES (:target, :scope, :kind, :reason, :author, :expires_at, :rate, :set_at);
