-- Locks the jobs chosen. Whoever changes one of them meanwhile, or has it still, spoils it: then nothing goes
-- out this way. The sum is of MD5: two changes of one kind would cancel each other out in one of CRC32.
-- Parameters: most.
SELECT
    COUNT(*) = :most
    AND BIT_XOR(
        CONV(LEFT(MD5(CONCAT(j.shelf, ' ', j.spot, ' ', j.place, ' ', j.seq)), 16), 16, 10)
    ) = @oxmill_stand
INTO @oxmill_ready
FROM JSON_TABLE(
    CONCAT('[', IF(@oxmill_ready, @oxmill_chosen, ''), ']'),
    '$[*]' COLUMNS (value BIGINT PATH '$')
) AS asked
STRAIGHT_JOIN oxmill_jobs AS j FORCE INDEX (PRIMARY) ON j.seq = asked.value
FOR UPDATE SKIP LOCKED;
