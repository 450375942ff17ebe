-- Workers that look at what was written last are told that something was asked of them. A transaction does
-- this last of all: others who ask wait for it.
INSERT INTO oxmill_turns (name, number) VALUES ('control', 1)
ON DUPLICATE KEY UPDATE number = number + 1;
