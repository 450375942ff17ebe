-- The best of the jobs at the heads of the lines, locked.
-- Parameters: heads, as SQL.
SELECT GROUP_CONCAT(head.seq) INTO @oxmill_chosen FROM (:heads) AS head;
