-- The changes that can be added up now: those whose transactions are done.
-- Parameters: most.
SELECT CONCAT('[', GROUP_CONCAT(number), ']') INTO @oxmill_chosen
FROM (
    SELECT number FROM oxmill_changes
    WHERE @oxmill_turn
    ORDER BY number
    LIMIT :most
    FOR UPDATE SKIP LOCKED
) AS done;
