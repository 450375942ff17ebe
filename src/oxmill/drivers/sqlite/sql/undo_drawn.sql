-- Takes back the jobs that a batch has just stored.
-- Parameters: first and last, the numbers drawn for the batch.
DELETE FROM jobs WHERE seq BETWEEN :first AND :last;
