-- Counts the successes just recorded.
-- Parameters: many.
INSERT INTO oxmill_changes (queue, running, succeeded, ever_succeeded)
SELECT @oxmill_queue, -:many, :many, :many FROM oxmill_identity WHERE @oxmill_ready;
