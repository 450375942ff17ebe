-- A new job is part of a flow and waits for nothing.
-- Parameters: job, id, flow, reads, in this order.
INSERT INTO oxmill_nodes (
    job, id, flow, `reads`, staged, member_no, waiting, `round`, succeeded, failed, `open`
)
VALUES (:job, :id, :flow, :reads, 0, 0, 0, 0, 0, 0, 0);
