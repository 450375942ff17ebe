-- A page of published flows that match everything asked, the newest first.
-- Parameters: below, a number of arrival; ids, name, status, field_name and field_value of one field,
-- fields as [name, value] with values as JSON, NULL where not asked; most.
-- Result: seq, id, name, started_at, ended_at, failed, fields.
SELECT f.seq, f.id, f.name, f.started_at, f.ended_at, f.failed, f.fields
FROM flows AS f
WHERE
    f.seq < :below
    AND f.published = 1
    AND (:ids IS NULL OR f.id IN (SELECT value FROM json_each(:ids)))
    AND (:name IS NULL OR f.name = :name)
    AND (
        :status IS NULL
        OR :status = CASE
            WHEN f.ended_at IS NULL THEN 'running' WHEN f.failed THEN 'failed' ELSE 'succeeded'
        END
    )
    AND (
        :field_name IS NULL
        OR f.id IN (
            SELECT w.flow FROM flow_fields AS w
            WHERE w.name = :field_name AND w.value = :field_value
        )
    )
    AND (
        :fields IS NULL
        OR NOT EXISTS (
            SELECT 1 FROM json_each(:fields) AS asked
            WHERE NOT EXISTS (
                SELECT 1 FROM flow_fields AS w
                WHERE
                    w.name = json_extract(asked.value, '$[0]')
                    AND w.value = json_extract(asked.value, '$[1]')
                    AND w.flow = f.id
            )
        )
    )
ORDER BY f.seq DESC
LIMIT :most;
