-- Lanes of a queue have had their turn; the next ones are numbered in the order given.
-- Parameters: queue; first, the first number; lanes, a JSON array of [group_name, priority].
UPDATE lanes SET turn = :first + asked.key, served = 0
FROM json_each(:lanes) AS asked
WHERE
    group_name = json_extract(asked.value, '$[0]')
    AND queue = :queue
    AND priority = json_extract(asked.value, '$[1]');
