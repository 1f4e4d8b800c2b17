"""The sweep: plan what may go, delete it batch by batch, and say what was done."""

from retention.sweep.braking import check_strain, pause, pause_in_force, refuse, resume
from retention.sweep.closing import finish, result_of
from retention.sweep.context import Dispatch, Metrics, NoMetrics, Sweep
from retention.sweep.delivering import deliver, deliver_pending
from retention.sweep.dry_run import dry_run
from retention.sweep.in_process import LocalDispatch, run_sweep
from retention.sweep.limits import check_manager
from retention.sweep.opening import open_run
from retention.sweep.options import SharedPace, SweepOptions
from retention.sweep.repairing import cancel, cancel_run, repair
from retention.sweep.result import SweepResult
from retention.sweep.working import BatchReport, work_on

__all__ = [
    "BatchReport",
    "Dispatch",
    "LocalDispatch",
    "Metrics",
    "NoMetrics",
    "SharedPace",
    "Sweep",
    "SweepOptions",
    "SweepResult",
    "cancel",
    "cancel_run",
    "check_manager",
    "check_strain",
    "deliver",
    "deliver_pending",
    "dry_run",
    "finish",
    "open_run",
    "pause",
    "pause_in_force",
    "refuse",
    "repair",
    "result_of",
    "resume",
    "run_sweep",
    "work_on",
]
