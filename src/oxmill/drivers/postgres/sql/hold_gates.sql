-- Nobody else claims from these queues behind their gates before this transaction has ended.
-- Parameters: queues, a JSON array.
SELECT oxmill.hold_gates(ARRAY(SELECT json_array_elements_text(:queues::json)));
