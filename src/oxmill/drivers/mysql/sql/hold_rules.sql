-- No claim looks at rules on anything but queues before this transaction has ended.
SELECT number FROM oxmill_turns WHERE name = 'rules' FOR UPDATE;
