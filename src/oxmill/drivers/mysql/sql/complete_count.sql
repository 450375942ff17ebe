-- Counts the successes just recorded, or gone.
-- Parameters: many; kept, as many or 0.
INSERT INTO oxmill_changes (queue, running, succeeded, ever_succeeded)
SELECT @oxmill_queue, -:many, :kept, :many FROM oxmill_identity WHERE @oxmill_ready;
