-- These news were taken in.
-- Parameters: numbers, a JSON array.
DELETE FROM oxmill_lane_news WHERE number IN (:numbers*);
