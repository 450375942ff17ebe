-- The head of one line, locked; who else claims takes what comes after it.
-- Parameters: place, most.
-- Result: seq, priority, place in line.
SELECT h.seq, h.spot, h.place
FROM oxmill_jobs AS h FORCE INDEX (oxmill_jobs_shelf)
WHERE h.shelf = @oxmill_line_:place
ORDER BY h.spot, h.place
LIMIT :most
FOR UPDATE SKIP LOCKED;
