"""A real Prometheus Pushgateway for tests, from the system's package."""

import re
import shutil
import urllib.request
from pathlib import Path
from urllib.error import URLError

from tests.servers.process import ServerProcess, ServiceMissingError

#: Debian's name, and that of the project's own archive.
_NAMES = ("prometheus-pushgateway", "pushgateway")
_LISTENS = re.compile(r'msg="?Listening on"? .*address=(?:127\.0\.0\.1):(\d+)')


class PushgatewayServer(ServerProcess):
    """A gateway on a port of its own choice, which keeps nothing over a restart."""

    def __init__(self) -> None:
        program = next(filter(None, map(shutil.which, _NAMES)), None)
        if program is None:
            raise ServiceMissingError("prometheus-pushgateway is not on PATH")
        self._program = Path(program)
        super().__init__("rt-pgw-")

    @property
    def url(self) -> str:
        """Its address; the log says which port it was given last."""
        return f"http://127.0.0.1:{_LISTENS.findall(self.log)[-1]}"

    def start(self) -> None:
        """Start it."""
        (self.folder / "log").unlink(missing_ok=True)
        self._launch([str(self._program), "--web.listen-address=127.0.0.1:0"])

    def is_ready(self) -> bool:
        """Whether it takes pushes."""
        if not _LISTENS.search(self.log):
            return False
        try:
            return self._get("/-/ready") != ""
        except URLError:
            return False

    def metrics(self) -> str:
        """What Prometheus would scrape."""
        return self._get("/metrics")

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=5) as answer:  # noqa: S310 - our own
            return str(answer.read().decode())
