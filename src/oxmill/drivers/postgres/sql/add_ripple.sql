-- Ripples are left for sweeps.
-- Parameters: arrays of the columns, in this order.
INSERT INTO oxmill.ripples (kind, target, ok, round, past)
SELECT r.kind, r.target, r.ok, r.round, r.past
FROM unnest(
    :kind::text[], :target::text[], :ok::integer[], :round::integer[], :past::integer[]
) WITH ORDINALITY AS r (kind, target, ok, round, past, number)
ORDER BY r.number;
