"""Looking into a Redis as no saver does."""

from typing import Any

from stores.redis.layout import keys_of


def dump(client: Any) -> dict[bytes, Any]:
    """All keys with their values, of whatever type."""
    return {key: _value(client, key) for key in client.keys("*")}


def _value(client: Any, key: bytes) -> Any:
    kind = client.type(key)
    if kind == b"hash":
        return client.hgetall(key)
    if kind == b"zset":
        return dict(client.zrange(key, 0, -1, withscores=True))
    raise AssertionError(f"{key!r} is of type {kind!r}")


def thread_of(client: Any, thread_id: str) -> dict[bytes, Any]:
    """What a thread is, but for what is another at every write."""
    found = {key: _value(client, key) for key in keys_of(thread_id) if client.exists(key)}
    for meta in found.values():
        for name in (b"n", b"rev"):
            meta.pop(name, None)
    return found


def expiries(client: Any, thread_id: str) -> set[int]:
    """The instants, in milliseconds since 1970, at which the keys of a thread go; -1 is never."""
    # Release 6.2 has no PEXPIRETIME, and its clock runs on within a script.
    script = """
    local function now()
      local t = redis.call('TIME')
      return t[1] * 1000 + math.floor(t[2] / 1000)
    end
    local found = {}
    for i = 1, #KEYS do
      local left, before
      repeat
        before = now()
        left = redis.call('PTTL', KEYS[i])
      until before == now()
      if left ~= -2 then found[#found + 1] = left == -1 and -1 or left + before end
    end
    return found
    """
    keys = keys_of(thread_id)
    return {int(expiry) for expiry in client.eval(script, len(keys), *keys)}


def age(client: Any, thread_id: str, milliseconds: int) -> None:
    """Let time pass for one thread: all of its keys go this much earlier, at one instant still."""
    (expiry,) = expiries(client, thread_id)
    for key in keys_of(thread_id):
        client.pexpireat(key, expiry - milliseconds)
