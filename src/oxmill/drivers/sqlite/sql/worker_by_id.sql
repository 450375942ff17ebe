-- What is known about one worker.
-- Parameters: id.
-- Result: started_at, command.
SELECT started_at, command FROM workers WHERE id = :id;
