-- Who holds these unique keys. The caller has their locks.
-- Parameters: keys, a JSON array.
-- Result: key, holder, live, hold_until, successor.
SELECT k.key, k.holder, k.live, k.hold_until, k.successor
FROM json_array_elements_text(:keys::json) AS asked (value)
JOIN oxmill.unique_keys AS k ON k.key = asked.value;
