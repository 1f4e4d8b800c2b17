"""Whether TLS is spoken where it is to be, asked before redis-py is.

A port without TLS waits for the rest of what it takes for a command. The sync half of redis-py
gives the handshake the time of a whole statement; here it has no more than a connection has.
"""

import contextlib
import socket
import ssl
import time

from retention.errors import StoreUnavailableError
from stores.redis_address import RedisPlace

#: Of a handshake that the connection before it left no time.
_LEAST_SECONDS = 0.01


def check_tls(place: RedisPlace, seconds: float) -> None:
    """Ask the first node that can be reached, within so many seconds for each.

    Whatever it answers is left to redis-py to judge, and a node that is away to report.

    Raises:
        StoreUnavailableError: It answers nothing to the beginning of TLS.
    """
    for host, port in place.nodes:
        until = time.monotonic() + seconds
        with contextlib.suppress(OSError), socket.create_connection((host, port), seconds) as plain:
            plain.settimeout(max(_LEAST_SECONDS, until - time.monotonic()))
            if _is_answered(plain):
                return
            raise StoreUnavailableError(
                f"Redis: no TLS is spoken at {host}:{port}: it answered nothing within "
                f"{seconds:g} seconds; redis:// is without TLS"
            )


def _is_answered(plain: socket.socket) -> bool:
    context = ssl.create_default_context()
    # Whom to trust is settled where something is sent: here nothing is.
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        context.wrap_socket(plain).close()
    except TimeoutError:
        return False
    except OSError:
        return True
    return True
