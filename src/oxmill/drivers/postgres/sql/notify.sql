-- Tells all who listen. Nothing is lost with a lost hint, so the commit waits for no disk.
-- Parameters: channel, message.
SELECT set_config('synchronous_commit', 'off', true), pg_notify(:channel::text, :message::text);
