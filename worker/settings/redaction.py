"""Taking the secrets out of an address before anybody sees it.

Masking too much costs a reader a little; masking too little costs a password. So where an address
cannot be read for certain, the doubtful part goes.
"""

import re
from collections.abc import Iterable
from urllib.parse import unquote

MASK = "***"

# In these the text after the scheme is a path: an "@" in it introduces no password.
_PATH_SCHEMES = frozenset({"sqlite", "file", "filesystem", "memory"})

# Where a name alone before the "@" is a user and never a password written in the wrong place.
_USER_SCHEMES = ("postgres",)

# From the start of a word: tried anew at each letter, a long word takes for ever.
_KEY = (
    r"(?<![\w.-])"
    r"([\w.-]*(?:passw|passphrase|pwd|secret|token|credential|api_?key|access_?key)[\w.-]*\s*=\s*)"
)

# Nothing but an ampersand ends a parameter of a URL.
_URL_PAIR = re.compile(rf"{_KEY}[^&]*", re.IGNORECASE)

# In the key=value form of libpq a blank does, unless quoted or after a backslash; the quote that
# ends a value may be missing.
_DSN_PAIR = re.compile(
    rf"{_KEY}(?:'(?:\\.|[^'\\])*(?:'|$)|(?:\\.|[^\s\\])*)", re.IGNORECASE | re.DOTALL
)

# Within a text; from the start of a word, as above.
_ADDRESS_WITH_USER = re.compile(r"(?<![\w+.-])[\w+.-]+://[^\s'\"]*@[^\s'\"]*")

# Shorter ones are words of every message: masking them would tell more than it hides.
_SHORTEST_SECRET = 4

# What our own messages show as a right address.
_EXAMPLE = "://user:password@host"

_HOSTS = re.compile(r"(?:(?:\[[^\]@]*\]|[^:@\[\],]+)(?::\d{0,5})?(?:,|$))*")


def redact(address: str) -> str:
    """Give an address without its secrets, fit for a log line or an error.

    Args:
        address: A URL (several hosts, or several URLs joined by ``;``, are fine), a libpq
            ``key=value`` DSN, a path, or any of these written wrongly.

    Returns:
        The address with each password, and the value of each parameter named like a secret,
        replaced by ``***``. Text that holds none comes back unchanged. Never raises.
    """
    pair = _URL_PAIR if "://" in address else _DSN_PAIR
    return pair.sub(rf"\1{MASK}", _mask_user_info(address))


def scrub(text: str, addresses: Iterable[str]) -> str:
    """Give a text without the passwords of these addresses, and of any other address in it."""
    for address in filter(None, addresses):
        text = text.replace(address, redact(address))
        for secret in _secrets(address):
            text = text.replace(secret, MASK)
    return _ADDRESS_WITH_USER.sub(_redacted, text)


def _redacted(found: re.Match[str]) -> str:
    return found[0] if _EXAMPLE in found[0] else redact(found[0])


def _secrets(address: str) -> list[str]:
    """Give the password of an address, as written and as meant, the longest form first.

    A driver that reads an unescaped one takes it apart at its special characters.
    """
    user_info = address.partition("://")[2].rpartition("@")[0]
    written = user_info.partition(":")[2]
    forms = {written, *re.split(r"[@/?#:]", written)}
    forms |= {unquote(form) for form in forms}
    return sorted((f for f in forms if len(f) >= _SHORTEST_SECRET), key=len, reverse=True)


def _mask_user_info(address: str) -> str:
    scheme, separator, rest = address.partition("://")
    if not separator:
        return _mask_without_scheme(address)
    if scheme.lower() in _PATH_SCHEMES:
        return address
    # A password may hold "/", "?" or "@" unescaped, so the last "@" of all is taken for its end.
    before, at, after = rest.rpartition("@")
    if at:
        return f"{scheme}://{_mask_password(scheme, before)}@{after}"
    return f"{scheme}://{rest if _is_plain(rest) else MASK}"


def _mask_password(scheme: str, user_info: str) -> str:
    user, colon, _ = user_info.partition(":")
    if colon:
        return f"{user}:{MASK}"
    return user if scheme.lower().startswith(_USER_SCHEMES) else MASK


def _mask_without_scheme(text: str) -> str:
    """Mask ``user:password@host``, a URL whose scheme was lost."""
    before, at, after = text.rpartition("@")
    if not at or ":" not in before:
        return text
    return f"{before.partition(':')[0]}:{MASK}@{after}"


def _is_plain(rest: str) -> bool:
    """Say whether what follows the scheme begins with hosts and ports and nothing else."""
    return _HOSTS.fullmatch(re.split(r"[/?#;]", rest, maxsplit=1)[0]) is not None
