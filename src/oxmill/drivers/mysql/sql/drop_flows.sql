-- Flows go; this is about their rows in `oxmill_flows`.
-- Parameters: ids, a JSON array.
DELETE FROM oxmill_flows WHERE id IN (:ids*);
