-- Records what people did and what went wrong.
-- Parameters: how many of the same transaction come after it; at, kind, target, author, detail.
INSERT INTO oxmill_events (seq, at, kind, target, author, detail)
VALUES (LAST_INSERT_ID() - :after, :at, :kind, :target, :author, :detail);
