"""Finding the store an address belongs to. Drivers are imported when they are needed."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from retention.errors import ConfigurationError
from retention.policy import ThreadRetention
from stores.address import SCHEMES, Provider, address_fault, provider_of
from stores.inspection import Inspection
from stores.opened import Store
from stores.options import Access, StoreOptions


@contextmanager
def open_saver(
    address: str,
    *,
    retention: ThreadRetention | None = None,
    settings: StoreOptions | None = None,
) -> Iterator[BaseCheckpointSaver[Any]]:
    """Open a LangGraph saver on a store; it is made where it is missing.

    Args:
        address: The store's address, such as ``sqlite:///checkpoints.db``.
        retention: What the store's ledger declares for a thread that is started without one.
        settings: How to open the store; by default as ``StoreOptions`` does.

    Raises:
        ConfigurationError: The address or a setting is wrong.
        ThreadRetentionError: ``retention`` is above the platform's.
        StoreUnavailableError: The store cannot be reached.
    """
    with open_store(address, retention=retention, settings=settings) as store:
        yield store.saver


@asynccontextmanager
async def aopen_saver(
    address: str,
    *,
    retention: ThreadRetention | None = None,
    settings: StoreOptions | None = None,
) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Async twin of ``open_saver``."""
    async with aopen_store(address, retention=retention, settings=settings) as store:
        yield store.saver


@contextmanager
def open_store(
    address: str,
    *,
    retention: ThreadRetention | None = None,
    settings: StoreOptions | None = None,
) -> Iterator[Store]:
    """Open a whole store: ``.saver``, ``.ledger``, ``.threads`` and the other ports.

    Arguments and errors are those of ``open_saver``.
    """
    module, options = _module(address), _options(retention, settings)
    with module.open_store(address, options) as store:
        yield store


@asynccontextmanager
async def aopen_store(
    address: str,
    *,
    retention: ThreadRetention | None = None,
    settings: StoreOptions | None = None,
) -> AsyncIterator[Store]:
    """Async twin of ``open_store``: the saver is async, and so are the ledger's ``a…`` methods."""
    module, options = _module(address), _options(retention, settings)
    async with module.aopen_store(address, options) as store:
        yield store


def init_store(address: str, *, settings: StoreOptions | None = None) -> None:
    """Make a store and all its tables where they are missing.

    Raises:
        ConfigurationError: The address is wrong, or the right to make tables is missing.
        StoreUnavailableError: The store cannot be reached.
    """
    _module(address).init(address, _options(None, settings))


def adopt_store(
    address: str, *, settings: StoreOptions | None = None, compresses: bool | None = None
) -> Inspection:
    """Look at what a store holds, decoding nothing, and take it over where told to.

    Args:
        address: The store's address; the store must be there.
        settings: How to open it; what may be done to it depends on ``compresses`` alone.
        compresses: Whether large values may be stored compressed from now on, which stock savers
            cannot read; None only looks. A store with unreadable values is not taken over.

    Raises:
        CheckpointStoreFormatError: The store is of another format already.
        ConfigurationError: The address names no checkpoint store, or a right is missing.
        StoreUnavailableError: The store cannot be reached.
    """
    access = Access.READ if compresses is None else Access.WRITE
    options = replace(_options(None, settings), access=access)
    inspection: Inspection = _module(address).adopt(address, options, compresses)
    return inspection


def store_ddl(address: str) -> list[str]:
    """The statements that make all tables of the store at an address; nothing is opened."""
    statements: list[str] = _module(address).ddl()
    return statements


def _options(retention: ThreadRetention | None, settings: StoreOptions | None) -> StoreOptions:
    options = settings or StoreOptions()
    if retention is None:
        return options
    options.policy.accept(retention)
    return replace(options, retention=retention)


def _module(address: str) -> Any:
    _check_address(address)
    provider = _provider(address)
    try:
        return import_module(f"stores.{provider}")
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"the {provider} store needs {error.name}: "
            f"pip install 'langgraph-retention[{provider}]'"
        ) from error


def _check_address(address: object) -> None:
    if not isinstance(address, str):
        raise ConfigurationError(
            f"the address of a store must be a text, such as sqlite:///checkpoints.db: {address!r}"
        )


def _provider(address: str) -> Provider:
    provider = provider_of(address) if address else "sqlite"
    if provider is None:
        known = ", ".join(f"{scheme}://" for schemes in SCHEMES.values() for scheme in schemes)
        scheme = address.partition("://")[0]
        raise ConfigurationError(f"no store has the scheme {scheme}://; known are a path, {known}")
    fault = address_fault(provider, address)
    if fault is not None:
        raise ConfigurationError(fault)
    return provider
