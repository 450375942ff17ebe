-- The news of many groups that jobs have left are one row: `freed` names them, and `group_name` is NULL.
ALTER TABLE oxmill.lane_news ALTER COLUMN group_name DROP NOT NULL;

ALTER TABLE oxmill.lane_news ADD COLUMN freed text[] COLLATE "C";

UPDATE oxmill.lane_news SET freed = ARRAY[group_name], group_name = NULL WHERE priority IS NULL;
