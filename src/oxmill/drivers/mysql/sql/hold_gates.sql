-- Nobody else claims behind the gates of a queue before this transaction has ended.
-- Parameters: the queue.
INSERT INTO oxmill_gates (queue) VALUES (:queue)
ON DUPLICATE KEY UPDATE queue = VALUES(queue);
