"""The demonstration: a real graph, a real worker, and what a sweep does to ten days of threads."""

from worker.demo.running import Outcome, run_demo

__all__ = ["Outcome", "run_demo"]
