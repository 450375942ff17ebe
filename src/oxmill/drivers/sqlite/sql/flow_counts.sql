-- How many jobs of these flows are in which state.
-- Parameters: ids, a JSON array.
-- Result: flow, state, number.
SELECT n.flow, j.state, count(*)
FROM json_each(:ids) AS asked
CROSS JOIN nodes AS n INDEXED BY nodes_flow ON n.flow = asked.value
CROSS JOIN jobs AS j ON j.seq = n.job
GROUP BY n.flow, j.state;
