-- Which store this is, and settings of the connection on which our statements depend.
-- Result: store, sql_mode, character_set_client.
SELECT store, @@sql_mode, @@character_set_client FROM oxmill_identity;
