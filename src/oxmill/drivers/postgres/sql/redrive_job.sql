-- Ended jobs wait again, with fresh counts; their attempt numbers go on.
-- Parameters: arrays of due_at, place and seq, in this order.
UPDATE oxmill.jobs AS j SET
    state = 'waiting',
    due_at = r.due_at,
    place = r.place,
    failures = 0,
    crashes = 0,
    cancel_requested = 0,
    reason = NULL,
    last_outcome = NULL,
    result = NULL,
    error = NULL,
    ended_at = NULL,
    prune_at = NULL,
    expires_at = NULL,
    aside = NULL
FROM unnest(:due_at::bigint[], :place::bigint[], :seq::bigint[]) AS r (due_at, place, seq)
WHERE j.seq = r.seq;
