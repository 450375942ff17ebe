-- The turn to add counts up, unless another has it. The limit keeps the inner look from being merged into
-- the outer one, which locks nothing.
SELECT COUNT(*) INTO @oxmill_turn
FROM (SELECT number FROM oxmill_turns WHERE name = 'folding' LIMIT 1 FOR UPDATE SKIP LOCKED) AS turn;
