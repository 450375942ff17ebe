-- A rule holds from now on.
-- Parameters: the columns, in this order.
INSERT OR REPLACE INTO rules (target, scope, kind, reason, author, expires_at, rate, set_at)
VALUES (:target, :scope, :kind, :reason, :author, :expires_at, :rate, :set_at);
