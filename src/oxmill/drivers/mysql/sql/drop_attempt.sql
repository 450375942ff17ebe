-- Forgets the recorded end of one attempt: its holder came back.
-- Parameters: job, attempt, in this order.
DELETE FROM oxmill_attempts WHERE job = :job AND attempt = :attempt;
