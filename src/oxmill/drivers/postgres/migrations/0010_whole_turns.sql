-- Functions of claims and completions copy less, and jobs have room beside them for their next version: a
-- claim writes one on the same page, which takes half the records in the log, and its entries next to
-- the old ones, without splitting their pages. It holds for pages that are filled from now on.
-- `complete_gone` and `complete_kept` are called no more. They are not dropped here: somebody may be amid them.
ALTER TABLE oxmill.jobs SET (fillfactor = 50);
ALTER INDEX oxmill.jobs_pkey SET (fillfactor = 50);
ALTER INDEX oxmill.jobs_id SET (fillfactor = 50);
