-- How long they are kept if they do not say it themselves, and the limits of their queue, or NULL if it
-- has no settings. A variable that a statement assigns has its old value everywhere else in it, so each
-- conclusion is a statement of its own.
-- Parameters: usual, how long successes are kept in queues without settings.
SELECT COALESCE(MAX(s.keep_succeeded), :usual), MAX(s.limits)
INTO @oxmill_keep, @oxmill_limits
FROM oxmill_queue_settings AS s
WHERE s.queue = @oxmill_queue;
