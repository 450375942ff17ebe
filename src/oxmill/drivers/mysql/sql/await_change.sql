-- Waits until what was written last differs from what the caller has seen, or it has looked often enough.
-- For MariaDB, which lets a client send a block: nobody is woken while nothing is written.
-- Parameters: many and number, as `last_change` told them; looks, how many; pause, seconds between them.
-- Result: that of `last_change`, then none.
BEGIN NOT ATOMIC
    DECLARE left_over INT DEFAULT :looks;
    DECLARE many_now, number_now BIGINT;
    looking: LOOP
        SELECT COUNT(*), MAX(number) INTO many_now, number_now FROM oxmill_changes;
        SET left_over = left_over - 1;
        IF left_over <= 0 OR NOT (many_now <=> :many AND number_now <=> :number) THEN
            LEAVE looking;
        END IF;
        DO SLEEP(:pause);
    END LOOP;
    SELECT many_now, number_now;
END;
