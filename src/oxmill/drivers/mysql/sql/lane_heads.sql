-- The jobs at the heads of many lanes of groups.
-- Parameters: firsts, as SQL: their seqs; now.
-- Result: group_name, priority, place, seq, task, due_at, extras, whether it expired before its first run.
SELECT
    j.group_name, j.priority, j.place, j.seq, j.task, j.due_at, j.extras,
    j.expires_at IS NOT NULL AND j.expires_at <= :now AND j.attempt = 0
FROM (:firsts) AS head
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (PRIMARY) ON j.seq = head.seq;
