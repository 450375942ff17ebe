-- The turn to add counts up, unless another has it.
SELECT COUNT(*) INTO @oxmill_turn
FROM (SELECT number FROM oxmill_turns WHERE name = 'folding' FOR UPDATE SKIP LOCKED) AS turn;
