-- A claim comes to the gates of these queues; see the function of that name.
-- Parameters: queues, a JSON array.
SELECT oxmill.enter_gates(ARRAY(SELECT json_array_elements_text(:queues::json)));
