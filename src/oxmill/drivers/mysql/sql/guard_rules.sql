-- No rule on anything but queues changes before this transaction has ended.
SELECT number FROM oxmill_turns WHERE name = 'rules' LOCK IN SHARE MODE;
