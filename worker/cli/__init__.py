"""The command ``retention``: noun, then verb."""

import sys


def main() -> None:
    """Run the command of this process's arguments and leave with its exit status."""
    try:
        from worker.cli.program import retention

        retention()
    except ModuleNotFoundError as error:
        sys.stderr.write(
            f"retention: this command needs {error.name}: "
            "pip install 'langgraph-retention[worker]'\n"
        )
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("retention: interrupted\n")
        sys.exit(130)
