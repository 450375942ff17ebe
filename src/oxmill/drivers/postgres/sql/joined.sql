-- The children that jobs spawned in a round, in order.
-- Parameters: rounds, a JSON array of [job, round].
-- Result: job, id of the child.
SELECT e.dependent, e.upstream
FROM json_array_elements(:rounds::json) WITH ORDINALITY AS asked (item, number)
JOIN oxmill.edges AS e
    ON
        e.dependent = (asked.item ->> 0)::bigint
        AND e.round = (asked.item ->> 1)::integer
ORDER BY asked.number, e.position;
