-- Records what people did and what went wrong.
-- Parameters: at, kind, target, author, detail, in this order.
INSERT INTO events (at, kind, target, author, detail)
VALUES (:at, :kind, :target, :author, :detail);
