"""``./run bench sweep|live --store sqlite|postgres|redis``, ``redis``, ``codec``, ``filters``."""

import argparse
import gc
from typing import cast

from bench.subjects import subject
from bench.sweep import compare_deletes, compare_idle, compare_memory, compare_scale


def main() -> None:
    """Run the benchmark that the command line names."""
    args = _arguments()
    if args.benchmark == "codec":
        from bench.codec_types import compare_codecs

        compare_codecs(args.rounds)
        return
    if args.benchmark == "filters":
        from bench.filters import STORES, compare_filters

        for store in STORES if args.store is None else (args.store,):
            compare_filters(store, args.threads, args.checkpoints, args.rounds)
        return
    with subject(args.store) as made:
        # As a worker does at its start: no contender waits for a look through all modules.
        gc.freeze()
        if args.benchmark == "live":
            from bench.live import compare_live

            compare_live(
                made, args.threads, args.checkpoints, args.rounds, apart=not args.any_processor
            )
        elif args.scale:
            compare_scale(made, args.threads, args.checkpoints)
        elif args.idle:
            compare_idle(made, args.threads, args.checkpoints, args.rounds)
        elif args.memory:
            compare_memory(made, args.threads, args.checkpoints)
        elif args.benchmark == "redis":
            from bench.redis import compare_redis
            from bench.redis_subject import RedisSubject

            both = cast(RedisSubject, made)
            compare_redis(both, args.threads, args.checkpoints, args.rounds)
        else:
            compare_deletes(made, args.threads, args.checkpoints, args.rounds)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench")
    parser.add_argument("benchmark", choices=["sweep", "live", "redis", "codec", "filters"])
    parser.add_argument("--store", choices=["sqlite", "postgres", "redis"])
    parser.add_argument("--threads", type=_count)
    parser.add_argument("--checkpoints", type=_count, default=5)
    parser.add_argument("--rounds", type=_count, default=3)
    parser.add_argument(
        "--any-processor",
        action="store_true",
        help="live: agent and sweep run where the kernel puts them",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--idle", action="store_true", help="nothing is due")
    kind.add_argument("--memory", action="store_true", help="peak memory of the planner")
    kind.add_argument("--scale", action="store_true", help="each power of ten up to --threads")
    args = parser.parse_args()
    if args.benchmark == "redis" and args.store is None:
        args.store = "redis"
    if args.threads is None:
        args.threads = {"filters": 200_000, "live": 30_000}.get(args.benchmark, 10_000)
    if args.benchmark == "filters" and args.store == "sqlite":
        parser.error("filters takes no --store that cannot hold asks: sqlite")
    if args.store is None and args.benchmark in ("sweep", "live"):
        parser.error(f"the following arguments are required for {args.benchmark}: --store")
    if args.benchmark == "redis" and args.store != "redis":
        parser.error(f"redis takes no other --store: {args.store}")
    return args


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 up is needed, not {text!r}")
    return int(text)


if __name__ == "__main__":
    main()
