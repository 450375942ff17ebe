-- Jobs' parts in their flows are like this from now on.
-- Parameters: arrays of the columns, in this order.
INSERT INTO oxmill.nodes (
    job, id, flow, parent, stage, staged, member, member_no, reads, after_ids, after_join,
    waiting, round, wait_join, succeeded, failed, open, deadline_at, resume
)
SELECT
    r.job, r.id, r.flow, r.parent, r.stage, r.staged, r.member, r.member_no, r.reads,
    r.after_ids, r.after_join, r.waiting, r.round, r.wait_join, r.succeeded, r.failed, r.open,
    r.deadline_at, r.resume
FROM unnest(
    :job::bigint[], :id::text[], :flow::text[], :parent::text[], :stage::text[],
    :staged::integer[], :member::text[], :member_no::bigint[], :reads::text[],
    :after_ids::text[], :after_join::text[], :waiting::integer[], :round::integer[],
    :wait_join::text[], :succeeded::integer[], :failed::integer[], :open::integer[],
    :deadline_at::bigint[], :resume::text[]
) AS r (
    job, id, flow, parent, stage, staged, member, member_no, reads, after_ids, after_join,
    waiting, round, wait_join, succeeded, failed, open, deadline_at, resume
)
ON CONFLICT (job) DO UPDATE SET
    id = excluded.id,
    flow = excluded.flow,
    parent = excluded.parent,
    stage = excluded.stage,
    staged = excluded.staged,
    member = excluded.member,
    member_no = excluded.member_no,
    reads = excluded.reads,
    after_ids = excluded.after_ids,
    after_join = excluded.after_join,
    waiting = excluded.waiting,
    round = excluded.round,
    wait_join = excluded.wait_join,
    succeeded = excluded.succeeded,
    failed = excluded.failed,
    open = excluded.open,
    deadline_at = excluded.deadline_at,
    resume = excluded.resume;
