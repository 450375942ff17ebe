-- What came of it.
-- Result: now; ready; the jobs that went out, in the order of serving.
SELECT @oxmill_now, @oxmill_ready, @oxmill_chosen;
