-- What is set aside behind these gates is looked at by the next claim.
-- Parameters: gates, a JSON array.
UPDATE oxmill_asides FORCE INDEX (PRIMARY) SET opens_at = 0 WHERE gate IN (:gates*);
