-- Whether all of them are to be kept for a while or, if `gone` is asked for, not at all.
-- Parameters: gone.
SET @oxmill_ready = @oxmill_ready AND IF(
    :gone,
    @oxmill_gone,
    COALESCE(@oxmill_least, 1) > 0 AND NOT (@oxmill_unsaid AND @oxmill_keep = 0)
);
