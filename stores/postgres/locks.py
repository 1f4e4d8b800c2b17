"""Advisory locks: one name for each thread, and one for making tables.

A transaction-mode pooler allows only locks that end with their transaction.
"""

#: Sets the keys of this project's thread locks apart from those of other applications.
THREAD_SEED = 1_952_805_748

#: The key under which tables are made, one process at a time.
SETUP_KEY = 1_952_805_749
