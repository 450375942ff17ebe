-- Nobody else uses the meters of throttles, which are not about one queue, before this transaction has
-- ended. It comes after the locks on gates.
SELECT number FROM oxmill_turns WHERE name = 'throttles' FOR UPDATE;
