-- The number of arrival or place in line that was drawn last.
-- Result: the number.
SELECT n FROM counters WHERE queue = '' AND name = 'seq';
