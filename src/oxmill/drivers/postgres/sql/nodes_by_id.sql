-- These jobs as parts of their flows.
-- Parameters: ids, a JSON array.
-- Result: the columns of a node.
SELECT
    n.job, n.id, n.flow, n.parent, n.stage, n.staged, n.member, n.member_no, n.reads,
    n.after_ids, n.after_join, n.waiting, n.round, n.wait_join, n.succeeded, n.failed, n.open,
    n.deadline_at, n.resume
FROM json_array_elements_text(:ids::json) AS asked (value)
JOIN oxmill.jobs AS j ON j.id = asked.value
JOIN oxmill.nodes AS n ON n.job = j.seq;
