-- What the doctor wants to know about the server and about our tables.
-- Result: name, value.
SELECT s.name, s.setting
FROM pg_settings AS s
WHERE s.name IN (
    'server_version', 'server_version_num', 'server_encoding', 'fsync', 'full_page_writes',
    'synchronous_commit', 'synchronous_standby_names', 'default_transaction_isolation'
)
UNION ALL
SELECT 'in_recovery', pg_is_in_recovery()::text
UNION ALL
SELECT 'standbys', count(*)::text FROM pg_stat_replication WHERE state = 'streaming'
UNION ALL
SELECT 'oldest_transaction', floor(extract(epoch FROM max(clock_timestamp() - a.xact_start)))::text
FROM pg_stat_activity AS a
WHERE a.backend_type = 'client backend'
UNION ALL
SELECT 'unlogged', count(*)::text
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname || '.' = 'oxmill.' AND c.relkind = 'r' AND c.relpersistence <> 'p'
UNION ALL
SELECT 'dead_rows', t.n_dead_tup::text
FROM pg_stat_user_tables AS t
WHERE t.schemaname || '.' = 'oxmill.' AND t.relname = 'jobs';
