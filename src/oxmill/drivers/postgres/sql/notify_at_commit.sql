-- Tells all who listen when the transaction that it is part of is committed, and changes nothing
-- about that transaction.
-- Parameters: channel, message.
SELECT pg_notify(:channel::text, :message::text) IS NULL;
