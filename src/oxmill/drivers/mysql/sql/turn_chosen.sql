-- The jobs that go out, if nothing came in between.
SET @oxmill_chosen = IF(@oxmill_ready, @oxmill_chosen, NULL);
