-- How many jobs of these flows are in which state.
-- Parameters: ids, a JSON array.
-- Result: flow, state, number.
SELECT n.flow, j.state, count(*)
FROM json_array_elements_text(:ids::json) AS asked (value)
JOIN oxmill.nodes AS n ON n.flow = asked.value
JOIN oxmill.jobs AS j ON j.seq = n.job
GROUP BY n.flow, j.state;
