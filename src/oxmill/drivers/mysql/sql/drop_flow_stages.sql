-- Flows go; this is about their rows in `oxmill_stages`.
-- Parameters: ids, a JSON array.
DELETE FROM oxmill_stages WHERE flow IN (:ids*);
