-- A flow begins, unless it is there.
-- Parameters: the columns, in this order.
INSERT IGNORE INTO oxmill_flows (id, name, started_at, keep, fields)
VALUES (:id, :name, :started_at, :keep, :fields);
