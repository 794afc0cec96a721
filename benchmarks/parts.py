"""The parts of the benchmark, in the order in which they run."""

from collections.abc import Callable

from benchmarks.archive import measure_archive
from benchmarks.browser import measure_browser
from benchmarks.cost import measure_cost
from benchmarks.crowd import measure_crowd
from benchmarks.curiosity import measure_curiosity
from benchmarks.growth import measure_growth
from benchmarks.inspecting import measure_inspect
from benchmarks.limit import measure_limit
from benchmarks.micro import measure_micro
from benchmarks.play import measure_play
from benchmarks.race import measure_race
from benchmarks.recurrent import measure_recurrent
from benchmarks.server import measure_server
from benchmarks.solve import measure_solve
from benchmarks.stepping import measure_stepping
from benchmarks.throughput import Options, measure_throughput

__all__ = ["PARTS"]

PARTS: dict[str, Callable[[Options], None]] = {
    "micro": measure_micro,
    "limit": measure_limit,
    "throughput": measure_throughput,
    "race": measure_race,
    "recurrent": measure_recurrent,
    "solve": measure_solve,
    "growth": measure_growth,
    "cost": measure_cost,
    "stepping": measure_stepping,
    "curiosity": measure_curiosity,
    "browser": measure_browser,
    "play": measure_play,
    "inspect": measure_inspect,
    "server": measure_server,
    "crowd": measure_crowd,
    "archive": measure_archive,
}
