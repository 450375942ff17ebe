-- A page of published flows that match everything asked, the newest first.
-- Parameters: below, a number of arrival; ids, name, status, field_name and field_value of one field,
-- fields as [name, value] with values as JSON, NULL where not asked; most.
-- Result: seq, id, name, started_at, ended_at, failed, fields.
SELECT f.seq, f.id, f.name, f.started_at, f.ended_at, f.failed, f.fields
FROM oxmill.flows AS f
WHERE
    f.seq < :below::bigint
    AND f.published = 1
    AND (
        :ids::text IS NULL
        OR f.id IN (SELECT asked.value FROM json_array_elements_text(:ids::json) AS asked (value))
    )
    AND (:name::text IS NULL OR f.name = :name::text)
    AND (
        :status::text IS NULL
        OR :status::text = CASE
            WHEN f.ended_at IS NULL THEN 'running' WHEN f.failed = 1 THEN 'failed'
            ELSE 'succeeded'
        END
    )
    AND (
        :field_name::text IS NULL
        OR f.id IN (
            SELECT w.flow FROM oxmill.flow_fields AS w
            WHERE w.name = :field_name::text AND w.value = :field_value::text
        )
    )
    AND (
        :fields::text IS NULL
        OR NOT EXISTS (
            SELECT 1 FROM json_array_elements(:fields::json) AS asked (item)
            WHERE NOT EXISTS (
                SELECT 1 FROM oxmill.flow_fields AS w
                WHERE
                    w.name = (asked.item ->> 0)
                    AND w.value = (asked.item ->> 1)
                    AND w.flow = f.id
            )
        )
    )
ORDER BY f.seq DESC
LIMIT :most::bigint;
