-- Counts the jobs just granted, all of one queue.
-- Parameters: queue.
INSERT INTO oxmill_changes (queue, waiting, running)
SELECT :queue, -@oxmill_many, @oxmill_many FROM oxmill_identity WHERE @oxmill_many > 0;
