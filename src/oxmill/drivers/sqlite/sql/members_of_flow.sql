-- All jobs of a flow, in order of arrival.
-- Parameters: flow.
-- Result: seq, id.
SELECT n.job, n.id FROM nodes AS n INDEXED BY nodes_flow WHERE n.flow = :flow ORDER BY n.job;
