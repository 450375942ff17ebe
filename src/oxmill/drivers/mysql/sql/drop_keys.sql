-- Unique keys are free again.
-- Parameters: keys, a JSON array.
DELETE k
FROM JSON_TABLE(
    :keys, '$[*]' COLUMNS (number FOR ORDINALITY, value VARBINARY(1000) PATH '$')
) AS asked
STRAIGHT_JOIN oxmill_unique_keys AS k FORCE INDEX (PRIMARY) ON k.name = asked.value;
