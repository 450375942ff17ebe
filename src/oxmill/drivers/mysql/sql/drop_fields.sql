-- A job is no longer found by a field or tag.
-- Parameters: name, value, job, in this order.
DELETE FROM oxmill_fields WHERE name = :name AND value = :value AND job = :job;
