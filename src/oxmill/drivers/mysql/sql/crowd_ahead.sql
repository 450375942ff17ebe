-- A part of `lanes_ahead`: how many jobs of the lane's group run, however old their leases.
-- Parameters: queue.
-- Result: a number.
SELECT COUNT(*)
FROM oxmill_jobs AS j FORCE INDEX (oxmill_jobs_crowd)
WHERE j.crowd = CONCAT('running ', :queue, X'00', l.group_name);
