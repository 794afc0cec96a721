"""`python -m benchmarks.doctor`: train what is missing, score what there is."""

import argparse
import sys
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import wait
from pathlib import Path

from benchmarks.doctor.cases import CASES, Case
from benchmarks.doctor.page import summarize, write_page
from benchmarks.doctor.results import load, make_result, save
from benchmarks.doctor.train import judge, run_folder, start_training

HERE = Path(__file__).parent.parent


def main() -> int:
    given = _read()
    stored, runs = given.into or HERE / "results", given.into or HERE / ".doctor"
    path = stored / "doctor.json"
    chosen = [case for case in CASES if all(word in case.key for word in given.only)]
    if given.half != "all":
        chosen = [case for case in chosen if case.half == given.half]
    results = load(path)
    if given.again:
        results = {key: one for key, one in results.items() if key not in {case.key for case in chosen}}
    if given.rejudge:
        for case in chosen:
            if case.key in results and run_folder(runs, case).exists():
                seconds = results[case.key]["seconds"]
                results[case.key] = make_result(case, judge(case, runs), seconds)
        save(path, results)
    else:
        missing = [case for case in chosen if case.key not in results]
        for case, seconds in _train(missing, runs, given):
            results[case.key] = found = make_result(case, judge(case, runs), seconds)
            save(path, results)
            told = ", ".join(found["roots"]) or "–"
            print(f"{case.key:44} {seconds:5.1f} s  {told}", file=sys.stderr, flush=True)
    ordered = [results[case.key] for case in CASES if case.key in results]
    if given.half == "all" and not given.only:
        write_page(path.with_suffix(".md"), ordered)
    print(summarize([one for one in ordered if given.half in ("all", one["half"])]))
    return 0


def _train(cases: list[Case], runs: Path, given: argparse.Namespace) -> Iterator[tuple[Case, float]]:
    """A few at a time; each with its seconds, as soon as it is done."""
    ends = time.monotonic() + given.minutes * 60
    waiting, working = deque(cases), {}
    while waiting or working:
        while waiting and len(working) < given.jobs and time.monotonic() < ends:
            case = waiting.popleft()
            worker = start_training(case, runs)
            working[worker.sentinel] = (case, worker, time.monotonic())
        if not working:
            return
        for sentinel in wait(list(working)):
            case, worker, began = working.pop(sentinel)
            worker.join()
            if worker.exitcode:
                print(f"{case.key}: the training could not be made; its error is above", file=sys.stderr)
                continue
            yield case, time.monotonic() - began


def _read() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doctor", description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of keys such as rate_x100/CartPole-v1/0")
    parser.add_argument("--half", choices=("calibration", "held-out", "all"), default="all")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no training after so long")
    parser.add_argument("--into", type=Path, help="keep runs and results in this folder, to begin anew")
    parser.add_argument("--rejudge", action="store_true", help="apply today's rules to the runs there are")
    parser.add_argument("--again", action="store_true", help="train what is chosen anew")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
