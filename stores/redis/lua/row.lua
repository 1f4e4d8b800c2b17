-- What is known of a thread, read the same way wherever facts are asked for: head, at, undated,
-- st, mk, due, ow, dw, df, rev, hr, ea, and of a held or an ended thread hu, hb, ha, eb and er
-- behind it. A thread that is gone has none of them. The seal is not looked at: of a thread that
-- lost a part the rest may go. Where its meta is no hash, the row is what the server says of that:
-- the threads beside it can be read.
local function row_of(id)
  local meta = BUCKET .. 'm:' .. id
  local row = redis.pcall('HMGET', meta,
    'head', 'at', 'undated', 'st', 'mk', 'due', 'ow', 'dw', 'df', 'rev', 'hr', 'ea')
  if row.err then
    if string.find(row.err, 'WRONGTYPE', 1, true) then return { row.err } end
    redis.call('HMGET', meta, 'rev')
  end
  if row[11] or row[12] then
    for i, value in ipairs(redis.call('HMGET', meta, 'hu', 'hb', 'ha', 'eb', 'er')) do
      row[12 + i] = value
    end
  end
  return row
end
