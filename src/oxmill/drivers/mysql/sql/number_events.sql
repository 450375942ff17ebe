-- Numbers are drawn for events, one transaction after the other.
-- Parameters: how many.
-- Result: the last of them, as the id of the last insert.
UPDATE oxmill_turns SET number = LAST_INSERT_ID(number + :many) WHERE name = 'events';
