-- Who holds these unique keys, which are locked already. Each is looked up by itself, so that at
-- REPEATABLE READ nothing beside it is locked.
-- Parameters: keys, a JSON array.
-- Result: key, holder, live, hold_until, successor.
SELECT k.name, k.holder, k.live, k.hold_until, k.successor
FROM oxmill_unique_keys AS k FORCE INDEX (PRIMARY)
WHERE k.name IN (:keys*) AND k.holder <> '';
