-- An ended job waits again, with fresh counts; its attempt number goes on.
-- Parameters: due_at, place, seq, in this order.
UPDATE jobs SET
    state = 'waiting',
    due_at = :due_at,
    place = :place,
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
WHERE seq = :seq;
