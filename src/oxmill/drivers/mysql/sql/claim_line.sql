-- The line that jobs are taken from, or one that nobody stands in; nothing is chosen yet.
-- Parameters: place, queue.
SET
    @oxmill_line_:place = IF(
        @oxmill_ready AND NOT @oxmill_closed_:place, CONCAT('waiting ', :queue), ''
    ),
    @oxmill_chosen = NULL;
