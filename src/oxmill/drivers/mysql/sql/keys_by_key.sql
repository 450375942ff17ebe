-- Who holds these unique keys.
-- Parameters: keys, a JSON array.
-- Result: key, holder, live, hold_until, successor.
SELECT k.name, k.holder, k.live, k.hold_until, k.successor
FROM JSON_TABLE(
    :keys, '$[*]' COLUMNS (number FOR ORDINALITY, value VARBINARY(1000) PATH '$')
) AS asked
STRAIGHT_JOIN oxmill_unique_keys AS k FORCE INDEX (PRIMARY) ON k.name = asked.value
WHERE k.holder <> '';
