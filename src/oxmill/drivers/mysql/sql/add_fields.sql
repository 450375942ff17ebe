-- Makes a job findable by a field or, under the empty name, by a tag.
-- Parameters: name, value, job, in this order.
INSERT IGNORE INTO oxmill_fields (name, value, job) VALUES (:name, :value, :job);
