"""What a store is called in metrics: the same in every worker, and nothing secret."""

import hashlib
import re
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from stores.address import sqlite_path
from worker.settings import StoreSettings, SweepSettings, redact

_HASH_CHARACTERS = 8
_DEFAULT_PORT = ":5432"


def store_name(store: StoreSettings, sweep: SweepSettings) -> str:
    """The name that was set, else the provider and where the store is.

    Two deployments whose stores have one name would overwrite each other's series, so a file is
    told from one of the same name by a hash of its path.
    """
    if sweep.store_name is not None:
        return sweep.store_name
    if store.provider == "sqlite":
        return f"sqlite:{_file(store.address)}"
    return f"{store.provider}:{_place(store.address)}"


def _file(address: str) -> str:
    path = Path(sqlite_path(address)).absolute()
    digest = hashlib.sha256(str(path).encode(errors="surrogateescape")).hexdigest()
    return f"{path.name}-{digest[:_HASH_CHARACTERS]}"


def _place(address: str) -> str:
    """Host, port, database and schema; the query may give each of them, as libpq allows."""
    parts = urlsplit(redact(address))
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    host = query.get("host") or parts.netloc.rpartition("@")[2] or "localhost"
    port = f":{query['port']}" if "port" in query else ""
    database = query.get("dbname") or unquote(parts.path.lstrip("/"))
    schema = re.search(r"search_path\s*=\s*([^\s]+)", query.get("options", ""))
    place = f"{unquote(host)}{port}".removesuffix(_DEFAULT_PORT)
    return f"{place}/{database}{f'?{schema[1]}' if schema else ''}"
