-- A stage is like this from now on.
-- Parameters: the columns, in this order.
INSERT OR REPLACE INTO stages (name, flow, touched_at, published, live)
VALUES (:name, :flow, :touched_at, :published, :live);
