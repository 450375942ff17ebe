-- One row that is not text must not break the view for all others: what cannot be shown as text is
-- NULL there, and stands in `payload_bytes` or as it is stored.
CREATE FUNCTION oxmill.readable(given bytea) RETURNS text
LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
    RETURN convert_from(given, 'UTF8');
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;

-- A part of a JSON object, or NULL if it has none or cannot be read, such as with NUL in a text.
CREATE FUNCTION oxmill.json_part(given text, name text) RETURNS json
LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
    RETURN given::json -> name;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;

CREATE FUNCTION oxmill.text_part(given text, name text) RETURNS text
LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
    RETURN given::json ->> name;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;

-- The collations are those that the columns have had, so that views of people upon this one stay.
CREATE OR REPLACE VIEW oxmill.job_view AS
SELECT
    id,
    queue,
    task,
    state,
    reason,
    priority,
    attempt,
    failures,
    crashes,
    to_timestamp(enqueued_at / 1e6) AS enqueued,
    to_timestamp(due_at / 1e6) AS due,
    to_timestamp(claimed_at / 1e6) AS claimed,
    to_timestamp(lease_until / 1e6) AS leased_until,
    to_timestamp(ended_at / 1e6) AS ended,
    worker,
    group_name,
    unique_key,
    coalesce(oxmill.text_part(extras, 'content_type'), 'application/json') COLLATE "default"
        AS content_type,
    CASE
        WHEN oxmill.text_part(extras, 'content_type') IS NULL THEN oxmill.readable(payload)
    END COLLATE "C" AS payload,
    payload AS payload_bytes,
    coalesce(oxmill.json_part(extras, 'fields'), '{}') AS fields,
    coalesce(oxmill.json_part(extras, 'tags'), '[]') AS tags,
    result,
    coalesce(oxmill.text_part(error, 'type'), error) COLLATE "default" AS error_type,
    coalesce(oxmill.text_part(error, 'message'), error) COLLATE "default" AS error_message,
    seq
FROM oxmill.jobs;
