-- A job's part in its flow is like this from now on.
-- Parameters: the columns, in this order.
INSERT INTO oxmill_nodes (
    job, id, flow, parent, stage, staged, `member`, member_no, `reads`, after_ids, after_join,
    waiting, `round`, wait_join, succeeded, failed, `open`, deadline_at, resume
)
VALUES (
    :job, :id, :flow, :parent, :stage, :staged, :member, :member_no, :reads, :after_ids,
    :after_join, :waiting, :round, :wait_join, :succeeded, :failed, :open, :deadline_at, :resume
)
ON DUPLICATE KEY UPDATE
    id = VALUES(id),
    flow = VALUES(flow),
    parent = VALUES(parent),
    stage = VALUES(stage),
    staged = VALUES(staged),
    `member` = VALUES(`member`),
    member_no = VALUES(member_no),
    `reads` = VALUES(`reads`),
    after_ids = VALUES(after_ids),
    after_join = VALUES(after_join),
    waiting = VALUES(waiting),
    `round` = VALUES(`round`),
    wait_join = VALUES(wait_join),
    succeeded = VALUES(succeeded),
    failed = VALUES(failed),
    `open` = VALUES(`open`),
    deadline_at = VALUES(deadline_at),
    resume = VALUES(resume);
