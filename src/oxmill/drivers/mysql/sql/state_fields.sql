-- Those of the fields named that the states of these flows have.
-- Parameters: ids, names, JSON arrays.
-- Result: flow, name, value.
SELECT s.flow, s.name, s.value
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_flow_state AS s FORCE INDEX (PRIMARY)
    ON s.flow = asked.value AND s.name IN (:names*);
