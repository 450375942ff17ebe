-- Workers that are there are asked to do something.
-- Parameters: ids, a JSON array; command, now.
-- Result: id of each that is there.
UPDATE oxmill.workers AS w SET command = :command::text
FROM json_array_elements_text(:ids::json) AS asked (value)
WHERE w.id = asked.value AND w.stale_at > :now::bigint
RETURNING w.id;
