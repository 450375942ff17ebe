-- A flow begins, unless it is there.
-- Parameters: the columns, in this order.
INSERT INTO flows (id, name, started_at, keep, fields)
VALUES (:id, :name, :started_at, :keep, :fields)
ON CONFLICT (id) DO NOTHING;
