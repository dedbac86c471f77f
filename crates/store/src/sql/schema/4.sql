-- Loops that share one budget have the same pool.
ALTER TABLE budget ADD COLUMN pool TEXT;
CREATE INDEX budget_by_pool ON budget (pool);
