-- Those of the fields named that the states of these flows have.
-- Parameters: ids, names, JSON arrays.
-- Result: flow, name, value.
SELECT s.flow, s.name, s.value
FROM json_each(:ids) AS asked
CROSS JOIN flow_state AS s
    ON s.flow = asked.value AND s.name IN (SELECT value FROM json_each(:names));
