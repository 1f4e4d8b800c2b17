"""The checkpoint stores: one address opens the saver, the ledger and all other ports."""

from stores.opened import Store
from stores.opening import adopt_store, aopen_saver, aopen_store, init_store, open_saver, open_store
from stores.options import Access, StoreOptions

__all__ = [
    "Access",
    "Store",
    "StoreOptions",
    "adopt_store",
    "aopen_saver",
    "aopen_store",
    "init_store",
    "open_saver",
    "open_store",
]
