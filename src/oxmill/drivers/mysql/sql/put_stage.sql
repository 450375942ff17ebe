-- A stage is like this from now on.
-- Parameters: the columns, in this order.
INSERT INTO oxmill_stages (name, flow, touched_at, published, live)
VALUES (:name, :flow, :touched_at, :published, :live)
ON DUPLICATE KEY UPDATE
    touched_at = VALUES(touched_at),
    published = VALUES(published),
    live = VALUES(live);
