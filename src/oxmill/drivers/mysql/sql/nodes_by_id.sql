-- These jobs as parts of their flows.
-- Parameters: ids, a JSON array.
-- Result: the columns of a node.
SELECT
    n.job, n.id, n.flow, n.parent, n.stage, n.staged, n.`member`, n.member_no, n.`reads`,
    n.after_ids, n.after_join, n.waiting, n.`round`, n.wait_join, n.succeeded, n.failed,
    n.`open`, n.deadline_at, n.resume
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (value VARBINARY(200) PATH '$')) AS asked
STRAIGHT_JOIN oxmill_nodes AS n FORCE INDEX (oxmill_nodes_id) ON n.id = asked.value;
