-- Who holds these unique keys.
-- Parameters: keys, a JSON array.
-- Result: key, holder, live, hold_until, successor.
SELECT k.key, k.holder, k.live, k.hold_until, k.successor
FROM json_each(:keys) AS asked
CROSS JOIN unique_keys AS k ON k.key = asked.value;
