-- Changes that were added up go.
DELETE c
FROM JSON_TABLE(@oxmill_chosen, '$[*]' COLUMNS (number BIGINT PATH '$')) AS done
STRAIGHT_JOIN oxmill_changes AS c FORCE INDEX (PRIMARY) ON c.number = done.number;
