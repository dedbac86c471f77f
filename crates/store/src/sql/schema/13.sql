-- The token of a worker that an agent belongs to: another one cannot claim what is offered to it.
ALTER TABLE agents ADD COLUMN token TEXT;
