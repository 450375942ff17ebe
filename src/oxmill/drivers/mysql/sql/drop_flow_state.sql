-- Flows go; this is about their rows in `oxmill_flow_state`.
-- Parameters: ids, a JSON array.
DELETE FROM oxmill_flow_state WHERE flow IN (:ids*);
