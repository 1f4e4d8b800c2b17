"""``retention serve``: the metrics of a store, for Prometheus to scrape."""

import sys
from contextlib import suppress

import click

from stores import Access
from worker.cli.ending import ended_in_order
from worker.cli.exit_status import ExitStatus
from worker.cli.invocation import Invocation, common_options, pass_invocation
from worker.cli.opening import opened
from worker.cli.printing import print_json, print_line


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=9108,
    show_default=True,
    help="The port to listen on; 0 takes a free one.",
)
@common_options
@pass_invocation
def serve(invocation: Invocation, host: str, port: int) -> ExitStatus:
    """Answer GET /metrics and /healthz from the store, until ended; changes nothing.

    Nobody is asked for a password: listen where only Prometheus comes.
    """
    from worker.metrics.serving import MetricsApp, metrics_server

    if not host.strip():
        # An empty name would mean every address of this machine.
        raise click.UsageError("--host needs an address to listen on")
    with opened(invocation, Access.READ) as sweep:
        app = MetricsApp(sweep.store.runs, invocation.sweep().metrics_prefix)
        # To be ended by a signal is what a server is for, and no failure.
        with (
            metrics_server(host, port, app) as server,
            suppress(KeyboardInterrupt),
            ended_in_order(),
        ):
            _say(invocation, host, server.server_port)
            server.serve_forever()
    return ExitStatus.DONE


def _say(invocation: Invocation, host: str, port: int) -> None:
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"
    if invocation.as_json:
        print_json({"url": url, "host": host, "port": port})
    else:
        print_line(f"serving {url}")
    sys.stdout.flush()
