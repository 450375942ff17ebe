-- Which store this is: for a caller's connection to be compared with ours.
-- Result: store.
SELECT store FROM oxmill.identity;
