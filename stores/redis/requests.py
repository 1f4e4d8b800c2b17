"""Operations on Redis, described once and run by the sync and the async connection alike.

An operation is a generator. It yields the calls that may travel together, is sent their replies in
the same order, and returns its result.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from stores.redis.scripts import Script

Result = TypeVar("Result")

#: What a call may be given.
Arg: TypeAlias = bytes | str | int


@dataclass(frozen=True, slots=True)
class Call:
    """One run of a script, atomic on its server.

    ``start`` is how the names of all its keys begin; a script derives the others from it, so that
    a thread costs its id on the wire and not five names.
    """

    script: Script
    start: bytes
    args: Sequence[Arg] = ()


def command(call: Call) -> tuple[Any, ...]:
    """A call as a command of Redis."""
    # The second key is for a slot on its way to another node: that refuses a call of several keys
    # until all are there, and would let one through that names a single key which never exists.
    keys = (call.start, call.start + b"expiry")
    return ("EVALSHA", call.script.digest, len(keys), *keys, *call.args)


Steps: TypeAlias = Generator[Sequence[Call], list[Any], Result]


def one(script: Script, start: bytes, *args: Arg) -> Steps[Any]:
    """An operation of a single call; its result is the reply."""
    (reply,) = yield [Call(script, start, args)]
    return reply
