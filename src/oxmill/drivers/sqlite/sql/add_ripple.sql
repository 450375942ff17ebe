-- A ripple is left for sweeps.
-- Parameters: the columns, in this order.
INSERT INTO ripples (kind, target, ok, round, past) VALUES (:kind, :target, :ok, :round, :past);
