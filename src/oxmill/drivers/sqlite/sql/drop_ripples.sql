-- Ripples are done.
-- Parameters: numbers, a JSON array.
DELETE FROM ripples WHERE n IN (SELECT value FROM json_each(:numbers));
