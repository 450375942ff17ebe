-- The turn to add counts up, unless another has it.
-- Result: one row, or none.
SELECT number FROM oxmill_turns WHERE name = 'folding' FOR UPDATE SKIP LOCKED;
