-- New jobs that read the same are parts of flows and wait for nothing.
-- Parameters: made, a JSON object of their numbers of arrival and flows; suffix, how their ids go on after
-- that of the flow; reads.
INSERT INTO nodes (
    job, id, flow, reads, staged, member_no, waiting, round, succeeded, failed, open
)
SELECT
    CAST(made.key AS INTEGER), made.value || :suffix, made.value, :reads, 0, 0, 0, 0, 0, 0, 0
FROM json_each(:made) AS made;
