-- Those of these flows that were never published and of which no stage is left.
-- Parameters: ids, a JSON array.
-- Result: id.
SELECT f.id
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_flows AS f FORCE INDEX (oxmill_flows_id) ON f.id = asked.value
WHERE f.published = 0 AND NOT EXISTS (SELECT 1 FROM oxmill_stages AS s WHERE s.flow = f.id);
