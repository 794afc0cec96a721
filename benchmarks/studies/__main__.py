"""`python -m benchmarks.studies [NAME …]`: make the trainings of studies that are missing, and their page.

Results are kept one by one in benchmarks/results/studies; steps to learn do not depend on how busy the
machine is, so nobody has to leave it alone.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.studies.copy_seeds import STUDY as COPY_SEEDS
from benchmarks.studies.doom_transfer import STUDY as DOOM_TRANSFER
from benchmarks.studies.doorkey_ladder import STUDY as DOORKEY_LADDER
from benchmarks.studies.level_forgetting import STUDY as LEVEL_FORGETTING
from benchmarks.studies.sticky_training import STUDY as STICKY_TRAINING
from benchmarks.studies.study import Row, Study, train_case

HERE = Path(__file__).parent.parent
STUDIES = {
    one.name: one for one in (COPY_SEEDS, DOOM_TRANSFER, LEVEL_FORGETTING, DOORKEY_LADDER, STICKY_TRAINING)
}


def main() -> int:
    given = _read()
    for name in [] if given.page else given.names or STUDIES:
        study = STUDIES[name]
        _make_missing(study, given)
    page = given.results / "studies.md"
    page.write_text(make_page(given.results), encoding="utf-8")
    print(f"Results: {page}")
    return 0


def _make_missing(study: Study, given: argparse.Namespace) -> None:
    path = given.results / "studies" / f"{study.name}.json"
    rows = _load(path)
    for case in study.cases(range(given.first_seed, given.first_seed + (given.seeds or study.seeds))):
        if not all(word in case.key for word in given.only) or (case.key in rows and not given.again):
            continue
        began = time.monotonic()
        found = train_case(study, case, given.runs)
        if found is None:
            print(f"{study.name} {case.key}: the training failed; its error is above", file=sys.stderr)
            continue
        found["commit"] = describe_machine()["commit"]
        rows = _load(path) | {case.key: found}  # anew: another process may have made other cases meanwhile
        _save(path, rows)
        took = time.monotonic() - began
        print(f"{study.name} {case.key}: {found['last']} after {took:.0f} s", file=sys.stderr, flush=True)


def make_page(results: Path) -> str:
    """What all studies have found so far, as Markdown."""
    lines = [
        "<!-- Made by `python -m benchmarks.studies`; do not edit. -->",
        "",
        "# Studies",
        "",
        "Questions that trainings answer. Each can be asked again, with more seeds too:",
        "`python -m benchmarks.studies NAME --seeds 5`. A mean is followed by the smallest and the largest",
        "value over seeds; with so few of them, no small difference means anything.",
    ]
    for study in STUDIES.values():
        rows = list(_load(results / "studies" / f"{study.name}.json").values())
        lines += ["", f"## {study.title}", "", f"`{study.name}`. {study.design}", ""]
        lines += [study.note, ""] if study.note and rows else []
        lines += study.page(rows) if rows else ["Not run yet."]
    return "\n".join(lines) + "\n"


def _load(path: Path) -> dict[str, Row]:
    if not path.is_file():
        return {}
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return {f"{row['arm']}/{row['env']}/{row['seed']}": row for row in rows}


def _save(path: Path, rows: dict[str, Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = ",\n  ".join(json.dumps(row) for row in rows.values())
    draft = path.with_suffix(".tmp")
    draft.write_text(f'{{"machine": {json.dumps(describe_machine())},\n "rows": [\n  {text}\n ]}}\n')
    draft.replace(path)


def _read() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(STUDIES)}; all by default")
    parser.add_argument("--seeds", type=int, help="how many")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[], help="parts of keys such as scratch/")
    parser.add_argument("--again", action="store_true", help="make also those whose result is stored")
    parser.add_argument("--page", action="store_true", help="only make the page from the results there are")
    parser.add_argument("--runs", type=Path, default=HERE / ".studies", help="where the runs lie")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="where results go")
    given = parser.parse_args()
    for name in given.names:
        if name not in STUDIES:
            parser.error(f"{name!r} is not among {', '.join(STUDIES)}")
    return given


if __name__ == "__main__":
    sys.exit(main())
