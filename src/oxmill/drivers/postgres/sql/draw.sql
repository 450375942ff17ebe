-- Numbers never drawn before, ascending, not always without gaps.
-- Parameters: n.
-- Result: one number per row.
SELECT nextval('oxmill.numbers') FROM generate_series(1, :n::bigint);
