-- What is known about one worker, as it will stay until the end of the transaction.
-- Parameters: id.
-- Result: started_at, command.
SELECT started_at, command FROM oxmill.workers WHERE id = :id::text FOR UPDATE;
