-- A part of `lanes_ahead`: the job at one depth of a lane.
-- Parameters: queue; nth, from 0.
-- Result: place and seq with a blank between, or NULL if the lane is shorter.
SELECT CONCAT(h.place, ' ', h.seq)
FROM oxmill_jobs AS h FORCE INDEX (oxmill_jobs_shelf)
WHERE h.shelf = CONCAT('lane ', :queue, X'00', l.group_name) AND h.spot = l.priority
ORDER BY h.spot, h.place
LIMIT 1 OFFSET :nth;
