-- Whether none of them is to be kept.
SET @oxmill_gone = @oxmill_queue IS NOT NULL
    AND COALESCE(@oxmill_least, 0) = 0
    AND COALESCE(@oxmill_longest, 0) = 0
    AND NOT (@oxmill_unsaid AND @oxmill_keep > 0);
