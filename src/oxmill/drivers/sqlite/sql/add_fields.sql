-- Makes a job findable by a field or, under the empty name, by a tag.
-- Parameters: name, value, job, in this order.
INSERT OR IGNORE INTO fields (name, value, job) VALUES (:name, :value, :job);
