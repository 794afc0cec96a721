"""Compare trainings of the working tree with those of another commit, bit by bit.

Digests depend on the processor and the libraries, so none are committed: both versions are trained on this
machine. Results of a commit are kept in `.same/` and used again.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.same import digest, trees
from tools.same.cases import CASES, Case
from tools.same.digest import Result, digest_run, find_differences
from tools.same.trees import ROOT, Tree, TreeError, describe_machine, extract_tree, resolve_base, working_tree

KEPT = ROOT / ".same"
_USAGE = "exit code 2:"
"""How the failure begins of a command whose settings a version does not know."""
_NEW = "new: BASE does not know these settings"


def main() -> int:
    options = _parse()
    names = [name for name in CASES if not options.only or name in options.only]
    try:
        commit = resolve_base(options.base)
        return _compare(commit, names, options.jobs)
    except TreeError as error:
        print(f"make same: {error}", file=sys.stderr)
        return 2


def train_case(case: Case, tree: Tree) -> Result:
    """What a case gives in a tree; a `TreeError` if a command fails or a repetition differs."""
    with tempfile.TemporaryDirectory(prefix="same-") as name:
        folder, results = Path(name), []
        run = folder
        for command in case.commands():
            run = tree.gymsolve([word.replace("{run}", str(run)) for word in command], folder)
            results.append(digest_run(run))
        if case.repeats:
            differences = find_differences(results[0], results[-1])
            if differences:
                raise TreeError(f"the second command did not repeat the first: {'; '.join(differences)}")
        return results[-1]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.same", description=__doc__)
    parser.add_argument("--base", help="the commit to compare with; default: where HEAD left origin/main")
    parser.add_argument("--only", type=_names, help="compare these cases, with commas between them")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in CASES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is no case; the cases are: {', '.join(CASES)}")
    return names


def _compare(commit: str, names: list[str], jobs: int) -> int:
    tree = working_tree()
    print(f"BASE is {commit[:12]}; kernels: {tree.kernels}; {len(names)} cases", flush=True)
    kept = KEPT / f"{commit[:12]}-{describe_machine(tree.kernels)}"
    with tempfile.TemporaryDirectory(prefix="same-") as folder:
        tree.require_own_code(Path(folder))
    stored = {name: _load(kept, name) for name in names}
    missing = [name for name in names if stored[name] is None]
    if missing:
        print(f"training BASE: {len(missing)} cases", flush=True)
        stored |= _train_base(commit, missing, kept, jobs)
    print("training the working tree", flush=True)
    results = _train(names, tree, jobs)
    width = max(map(len, names))
    different = 0
    for name in names:
        verdict = _judge(stored[name], results[name])
        different += verdict not in (["same"], [_NEW])
        for column, sentence in zip([name, *[""] * len(verdict)], verdict, strict=False):
            print(f"{column:{width}}  {sentence}")
    print(f"{len(names) - different} same or new, {different} different")
    return 1 if different else 0


def _judge(base: Result | str | None, tree: Result | str) -> list[str]:
    if isinstance(base, str) and base.startswith(_USAGE) and isinstance(tree, dict):
        return [_NEW]
    failures = [
        f"FAILED in {where}: {result}"
        for where, result in (("BASE", base), ("the tree", tree))
        if not isinstance(result, dict)
    ]
    if failures or not isinstance(base, dict) or not isinstance(tree, dict):
        return failures
    return [f"DIFFERENT {sentence}" for sentence in find_differences(base, tree)] or ["same"]


def _train_base(commit: str, names: list[str], kept: Path, jobs: int) -> dict[str, Result | str]:
    with tempfile.TemporaryDirectory(prefix="same-base-") as folder:
        base = extract_tree(commit, Path(folder) / "tree")
        base.require_own_code(Path(folder))
        results = _train(names, base, jobs)
    for name, result in results.items():
        if isinstance(result, dict):
            _store(kept, name, result)
    return results


def _train(names: Iterable[str], tree: Tree, jobs: int) -> dict[str, Result | str]:
    """Results by case; the text of the error where a command failed."""

    def train(name: str) -> Result | str:
        try:
            return train_case(CASES[name], tree)
        except TreeError as error:
            return str(error)

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(names, pool.map(train, names), strict=True))


def _fingerprint(name: str) -> str:
    """Changes when a kept result is no longer what this case would give."""
    sources = [Path(str(module.__file__)) for module in (digest, trees)] + [trees.OWN_ENVS / "same_envs.py"]
    texts = [path.read_text() for path in sources]
    case = CASES[name]
    texts += [json.dumps(case.commands()), str(case.repeats)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _load(kept: Path, name: str) -> Result | None:
    file = kept / f"{name}.json"
    if not file.exists():
        return None
    entry = json.loads(file.read_text())
    return entry["result"] if entry["fingerprint"] == _fingerprint(name) else None


def _store(kept: Path, name: str, result: Result) -> None:
    kept.mkdir(parents=True, exist_ok=True)
    entry = {"fingerprint": _fingerprint(name), "result": result}
    file = kept / f"{name}.json"
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(entry))
    partial.replace(file)


if __name__ == "__main__":
    sys.exit(main())
