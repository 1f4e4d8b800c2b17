"""A replica of a PostgreSQL server of the tests' own, which replays what that one writes."""

import psycopg

from tests.servers.postgres import PostgresServer


class PostgresReplica(PostgresServer):
    """Made from a running server by `pg_basebackup`."""

    def __init__(self, primary: PostgresServer) -> None:
        self._primary = primary
        super().__init__(settings={"wal_receiver_status_interval": "1s"})

    def _build_data(self) -> None:
        access = self._primary.folder / "data" / "pg_hba.conf"
        access.write_text(f"{access.read_text()}local replication all trust\n")
        with psycopg.connect(self._primary.dsn()) as connection:
            connection.execute("SELECT pg_reload_conf()")
        source = ["--host", str(self._primary.folder), "--username", "postgres"]
        how = ["--checkpoint=fast", "--no-sync", "--write-recovery-conf"]
        self._run([str(self._programs / "pg_basebackup"), "-D", str(self._data), *source, *how])
