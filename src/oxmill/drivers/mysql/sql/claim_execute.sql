-- Runs it.
EXECUTE oxmill_grant;
