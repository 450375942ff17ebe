-- How many jobs of these flows are in which state.
-- Parameters: ids, a JSON array.
-- Result: flow, state, number.
SELECT n.flow, j.state, COUNT(*)
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_nodes AS n FORCE INDEX (oxmill_nodes_flow) ON n.flow = asked.value
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (PRIMARY) ON j.seq = n.job
GROUP BY n.flow, j.state;
