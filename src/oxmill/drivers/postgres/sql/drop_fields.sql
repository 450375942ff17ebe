-- Jobs are no longer found by a field or tag.
-- Parameters: rows, a JSON array of [name, value, job].
DELETE FROM oxmill.fields AS f
USING json_array_elements(:rows::json) AS r (item)
WHERE
    f.name = r.item ->> 0
    AND f.value = (r.item -> 1)::text
    AND f.job = (r.item ->> 2)::bigint;
