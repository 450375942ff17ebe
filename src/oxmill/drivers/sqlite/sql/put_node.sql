-- A job's part in its flow is like this from now on.
-- Parameters: the columns, in this order.
INSERT OR REPLACE INTO nodes (
    job, id, flow, parent, stage, staged, member, member_no, reads, after_ids, after_join,
    waiting, round, wait_join, succeeded, failed, open, deadline_at, resume
)
VALUES (
    :job, :id, :flow, :parent, :stage, :staged, :member, :member_no, :reads, :after_ids,
    :after_join, :waiting, :round, :wait_join, :succeeded, :failed, :open, :deadline_at, :resume
);
