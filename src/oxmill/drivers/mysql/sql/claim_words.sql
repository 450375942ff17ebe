-- What to do with the jobs chosen; nothing, if there are none.
-- Parameters: before and after, the text of `claim_grant` around their seqs.
SET @oxmill_words = COALESCE(CONCAT(:before, @oxmill_chosen, :after), 'DO 0');
