-- The lanes that gave a job go behind all others, in the order of serving. It sorts what it finds, since it
-- changes what it is found by, so it must find no others.
-- Parameters: queue, most.
UPDATE oxmill_lanes FORCE INDEX (oxmill_lanes_next) SET
    turn = (@oxmill_turn := @oxmill_turn + 1),
    served = 0
WHERE
    @oxmill_ready
    AND queue = :queue
    AND opens_at = 0
    AND priority = @oxmill_priority
    AND turn <= @oxmill_last
ORDER BY priority, turn, group_name
LIMIT :most;
