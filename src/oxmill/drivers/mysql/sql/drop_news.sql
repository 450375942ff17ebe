-- These news were taken in. They are found one by one: a look through a range would wait for news that are
-- not committed yet, while their writer waits for the gates.
-- Parameters: numbers, a JSON array.
DELETE n
FROM JSON_TABLE(:numbers, '$[*]' COLUMNS (value BIGINT PATH '$')) AS asked
STRAIGHT_JOIN oxmill_lane_news AS n FORCE INDEX (PRIMARY) ON n.number = asked.value;
