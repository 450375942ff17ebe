-- Makes jobs findable by a field or, under the empty name, by a tag.
-- Parameters: rows, a JSON array of [name, value, job].
INSERT INTO oxmill.fields (name, value, job)
SELECT r.item ->> 0, (r.item -> 1)::text, (r.item ->> 2)::bigint
FROM json_array_elements(:rows::json) AS r (item)
ON CONFLICT (name, value, job) DO NOTHING;
