-- How long they are kept if they do not say it themselves, and the limits of their queue, or NULL if it
-- has no settings. A variable that a SET assigns has its old value everywhere else in that SET, so each
-- conclusion is a statement of its own.
-- Parameters: usual, how long successes are kept in queues without settings.
SET
    @oxmill_keep = COALESCE(
        (SELECT s.keep_succeeded FROM oxmill_queue_settings AS s WHERE s.queue = @oxmill_queue),
        :usual
    ),
    @oxmill_limits = (
        SELECT s.limits FROM oxmill_queue_settings AS s WHERE s.queue = @oxmill_queue
    );
