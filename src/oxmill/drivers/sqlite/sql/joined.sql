-- The children that jobs spawned in a round, in order.
-- Parameters: rounds, a JSON array of [job, round].
-- Result: job, id of the child.
SELECT e.dependent, e.upstream
FROM json_each(:rounds) AS asked
CROSS JOIN edges AS e INDEXED BY edges_round
    ON
        e.dependent = json_extract(asked.value, '$[0]')
        AND e.round = json_extract(asked.value, '$[1]')
ORDER BY asked.key, e.position;
