-- What is known about one worker.
-- Parameters: id.
-- Result: started_at, command.
SELECT started_at, command FROM oxmill_workers WHERE id = :id;
