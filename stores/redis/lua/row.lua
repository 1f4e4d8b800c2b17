-- What is known of a thread, read the same way wherever facts are asked for: head, at, undated,
-- st, mk, due, ow, dw, df, rev, and of a held thread hr, hu, hb and ha behind it. A thread that is
-- gone has none of them. The seal is not looked at: of a thread that lost a part the rest may go.
local function row_of(id)
  local meta = BUCKET .. 'm:' .. id
  local row = redis.call('HMGET', meta,
    'head', 'at', 'undated', 'st', 'mk', 'due', 'ow', 'dw', 'df', 'rev', 'hr')
  if row[11] then
    local hold = redis.call('HMGET', meta, 'hu', 'hb', 'ha')
    row[12], row[13], row[14] = hold[1], hold[2], hold[3]
  end
  return row
end
