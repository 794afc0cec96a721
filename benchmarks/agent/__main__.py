"""`python -m benchmarks.agent`: every task, by the scripted policy or by a chat model; a table at the end."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from benchmarks.agent import scripted
from benchmarks.agent.models import Model
from benchmarks.agent.session import open_session
from benchmarks.agent.tasks import TASKS, Task
from gymsolve.apps.review.chat import FORMATS

_HEAD = """\
# What an agent's work costs

Tasks of `benchmarks/agent` with nothing but the MCP tools, by `python -m benchmarks.agent`. Tokens of the
scripted policy are estimated: a quarter of the bytes of its calls, their answers and one list of the tools.
"""
RESULTS = Path(__file__).parent.parent / "results" / "agent.json"


def main() -> int:
    given = _read()
    chosen = [task for task in TASKS if all(word in task.name for word in given.only)]
    rows = []
    for task in chosen:
        with tempfile.TemporaryDirectory(prefix="gymsolve-agent-", ignore_cleanup_errors=True) as place:
            task.prepare(Path(place))
            rows.append(anyio.run(_attempt, task, Path(place), given))
        print(_line(rows[-1]), file=sys.stderr, flush=True)
    if not given.only:
        _keep(given.model or "scripted", rows)
    print(_table(rows))
    return 0 if all(row["done"] for row in rows) else 1


async def _attempt(task: Task, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    began = time.monotonic()
    model = Model(given.provider, given.model, limit=task.limit, url=given.url) if given.provider else None
    async with open_session(folder) as session:
        listed = len(json.dumps(await session.tools()).encode())
        said = await (scripted.play if model is None else model.play)(session, task.question)
    return {
        "task": task.name,
        "done": task.check(folder, said),
        "calls": session.calls,
        "errors": session.errors,
        "bytes_sent": session.bytes_sent,
        "bytes_received": session.bytes_received,
        "tokens": session.estimate(listed) if model is None else model.tokens,
        "seconds": round(time.monotonic() - began, 1),
    }


def _keep(who: str, rows: list[dict[str, Any]]) -> None:
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(stored | {who: rows}, indent=1) + "\n")
    RESULTS.with_suffix(".md").write_text(_page(stored | {who: rows}))


def _page(stored: dict[str, list[dict[str, Any]]]) -> str:
    tables = [f"## {who}\n\n{_table(rows)}\n" for who, rows in stored.items()]
    return "\n".join([_HEAD, *tables])


def _table(rows: list[dict[str, Any]]) -> str:
    names = ("task", "done", "calls", "errors", "bytes_sent", "bytes_received", "tokens")
    lines = [names, ["---"] * len(names), *([row[name] for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['task']:<40} {'done' if row['done'] else 'NOT DONE'}  {row['calls']} calls  {row['seconds']} s"
    )


def _read() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent", description=__doc__)
    parser.add_argument("only", nargs="*", help="words of the tasks' names")
    parser.add_argument("--provider", choices=sorted(FORMATS), help="whose message format the model speaks")
    parser.add_argument("--model", help="its name")
    parser.add_argument("--url", help="another server with the same format")
    given = parser.parse_args()
    if bool(given.provider) != bool(given.model):
        parser.error("--provider and --model belong together")
    return given


if __name__ == "__main__":
    sys.exit(main())
