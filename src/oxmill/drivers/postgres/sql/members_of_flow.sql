-- All jobs of a flow, in order of arrival.
-- Parameters: flow.
-- Result: seq, id.
SELECT n.job, n.id FROM oxmill.nodes AS n WHERE n.flow = :flow::text ORDER BY n.job;
