-- The token that a task was claimed with: no other token of a worker writes under the lease.
ALTER TABLE tasks ADD COLUMN claimed_with TEXT;
