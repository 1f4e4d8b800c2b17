"""The Lua scripts, read from the files beside the code that runs them."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Script:
    """A script by its name; the server knows it by the digest of its text."""

    name: str
    text: str
    digest: str


@cache
def script(name: str, *preludes: str) -> Script:
    """The script ``lua/<name>.lua``, with what the named files define in front of it."""
    folder = files("stores.redis").joinpath("lua")
    text = "\n".join(
        folder.joinpath(f"{part}.lua").read_text(encoding="utf-8") for part in (*preludes, name)
    )
    return Script(name, text, sha1(text.encode(), usedforsecurity=False).hexdigest())


def thread_script(name: str, *preludes: str) -> Script:
    """A script that works on the threads of one bucket; the named files come before it, too."""
    return script(name, "thread", *preludes)
