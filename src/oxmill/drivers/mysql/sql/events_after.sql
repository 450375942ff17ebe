-- Events in order.
-- Parameters: seq, the last one known; most.
-- Result: seq, at, kind, target, author, detail.
SELECT seq, at, kind, target, author, detail
FROM oxmill_events
WHERE seq > :seq
ORDER BY seq
LIMIT :most;
