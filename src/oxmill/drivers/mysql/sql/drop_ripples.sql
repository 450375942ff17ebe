-- Ripples are done.
-- Parameters: numbers, a JSON array.
DELETE FROM oxmill_ripples WHERE n IN (:numbers*);
