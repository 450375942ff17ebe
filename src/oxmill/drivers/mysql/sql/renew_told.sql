-- What came of it.
-- Result: whether all were prolonged (or none), and the moment.
SELECT @oxmill_ready, @oxmill_now;
