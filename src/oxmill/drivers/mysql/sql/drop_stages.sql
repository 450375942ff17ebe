-- Stages go.
-- Parameters: names, a JSON array.
DELETE FROM oxmill_stages WHERE name IN (:names*);
