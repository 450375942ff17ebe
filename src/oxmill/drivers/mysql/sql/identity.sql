-- Which store this is.
-- Result: a name that no other store has.
SELECT store FROM oxmill_identity;
