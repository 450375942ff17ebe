-- Flows go; this is about their rows in `oxmill_flow_fields`.
-- Parameters: ids, a JSON array.
DELETE FROM oxmill_flow_fields WHERE flow IN (:ids*);
