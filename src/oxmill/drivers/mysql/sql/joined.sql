-- The children that jobs spawned in a round, in order.
-- Parameters: rounds, a JSON array of [job, round].
-- Result: job, id of the child.
SELECT e.dependent, e.upstream
FROM JSON_TABLE(
    :rounds,
    '$[*]' COLUMNS (number FOR ORDINALITY, job BIGINT PATH '$[0]', turn INT PATH '$[1]')
) AS asked
STRAIGHT_JOIN oxmill_edges AS e FORCE INDEX (oxmill_edges_round)
    ON e.dependent = asked.job AND e.`round` = asked.turn
ORDER BY asked.number, e.position;
