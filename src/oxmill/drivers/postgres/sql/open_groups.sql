-- The lanes of these groups open, in whatever queue; the next claim looks again.
-- Parameters: groups, a JSON array.
UPDATE oxmill.lanes AS l SET opens_at = 0, behind = NULL
FROM json_array_elements_text(:groups::json) AS asked (value)
WHERE l.group_name = asked.value AND l.opens_at > 0;
