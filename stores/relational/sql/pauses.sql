-- name: put
INSERT INTO retention_pauses (slot, paused_at, paused_until, paused_by, reason)
VALUES (1, :at, :until, :by, :reason)
ON CONFLICT (slot) DO UPDATE SET paused_at = excluded.paused_at,
    paused_until = excluded.paused_until, paused_by = excluded.paused_by, reason = excluded.reason;

-- name: take_off
DELETE FROM retention_pauses WHERE slot = 1;

-- name: current
SELECT paused_at, paused_until, paused_by, reason FROM retention_pauses WHERE slot = 1;
