"""`python -m benchmarks.doctor`: train what is missing, score what there is."""

import argparse
import sys
import time
from collections import deque
from multiprocessing.connection import wait
from pathlib import Path

from benchmarks.doctor.cases import CASES, Case
from benchmarks.doctor.page import summarize, write_page
from benchmarks.doctor.results import Result, load, make_result, save
from benchmarks.doctor.train import judge, run_folder, start_training

HERE = Path(__file__).parent.parent
RESULTS, RUNS = HERE / "results" / "doctor.json", HERE / ".doctor"


def main() -> int:
    given = _read()
    chosen = [case for case in CASES if all(word in case.key for word in given.only)]
    if given.half != "all":
        chosen = [case for case in chosen if case.half == given.half]
    results = load(RESULTS)
    if given.again:
        results = {key: one for key, one in results.items() if key not in {case.key for case in chosen}}
    if given.rejudge:
        for case in chosen:
            if case.key in results and run_folder(RUNS, case).exists():
                seconds = results[case.key]["seconds"]
                results[case.key] = make_result(case, judge(case, RUNS), seconds)
        save(RESULTS, results)
    else:
        _train_missing([case for case in chosen if case.key not in results], results, given)
    ordered = [results[case.key] for case in CASES if case.key in results]
    if given.half == "all" and not given.only:
        write_page(RESULTS.with_suffix(".md"), ordered)
    print(summarize([one for one in ordered if given.half in ("all", one["half"])]))
    return 0


def _train_missing(cases: list[Case], results: dict[str, Result], given: argparse.Namespace) -> None:
    """A few at a time; each result is kept at once."""
    ends = time.monotonic() + given.minutes * 60
    waiting, working = deque(cases), {}
    while waiting or working:
        while waiting and len(working) < given.jobs and time.monotonic() < ends:
            case = waiting.popleft()
            worker = start_training(case, RUNS)
            working[worker.sentinel] = (case, worker, time.monotonic())
        if not working:
            return
        for sentinel in wait(list(working)):
            case, worker, began = working.pop(sentinel)
            worker.join()
            if worker.exitcode:
                print(f"{case.key}: the training could not be made; its error is above", file=sys.stderr)
                continue
            seconds = time.monotonic() - began
            results[case.key] = found = make_result(case, judge(case, RUNS), seconds)
            save(RESULTS, results)
            told = ", ".join(found["roots"]) or "–"
            print(f"{case.key:44} {seconds:5.1f} s  {told}", file=sys.stderr, flush=True)


def _read() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doctor", description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of keys such as rate_x100/CartPole-v1/0")
    parser.add_argument("--half", choices=("calibration", "held-out", "all"), default="all")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no training after so long")
    parser.add_argument("--rejudge", action="store_true", help="apply today's rules to the runs there are")
    parser.add_argument("--again", action="store_true", help="train what is chosen anew")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
