-- name: read
SELECT generation, compression FROM retention_format;

-- name: record
INSERT INTO retention_format (slot, generation, compression, recorded_at)
VALUES (1, :generation, :compression, :now) ON CONFLICT DO NOTHING;

-- name: adopt
INSERT INTO retention_format (slot, generation, compression, recorded_at)
VALUES (1, :generation, :compression, :now)
ON CONFLICT (slot) DO UPDATE SET
    generation = excluded.generation,
    compression = excluded.compression,
    recorded_at = excluded.recorded_at;
