-- Makes a statement of it.
PREPARE oxmill_grant FROM @oxmill_words;
