-- Jobs of these groups run no longer, or have left the line: the lanes of the groups open, and the next
-- claim looks again.
-- Parameters: rows, a JSON array of [group_name, queue].
UPDATE lanes SET opens_at = 0, behind = NULL
FROM json_each(:rows) AS asked
WHERE
    group_name = json_extract(asked.value, '$[0]')
    AND queue = json_extract(asked.value, '$[1]')
    AND opens_at > 0;
