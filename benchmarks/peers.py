"""Peers, each in a virtual environment of its own below `benchmarks/.peers`, made on first use.

`peers.json` pins them. torch comes first and pinned, so that no peer can pull another build. What
cannot be installed is reported with its reason, and the benchmark goes on without it.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["HERE", "PeerMissingError", "known_peers", "peer_python"]

HERE = Path(__file__).parent
PEERS = HERE / ".peers"


class PeerMissingError(Exception):
    """A peer that could not be installed; the text says why."""


def known_peers() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((HERE / "peers.json").read_text())
    return found


def peer_python(name: str) -> Path:
    """The interpreter of a peer's own environment, which is made if it is not there."""
    folder = PEERS / name
    python = folder / "bin" / "python"
    peer = known_peers()[name]
    asked = json.dumps([_torch_pin() if peer["torch"] else "", *peer["packages"]])
    done = folder / ".installed"
    if done.exists() and done.read_text() == asked:
        return python
    print(f"installing {name} into {folder} …", file=sys.stderr, flush=True)
    if not python.exists():
        _call([sys.executable, "-m", "venv", str(folder)])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if peer["torch"]:
        _call([*pip, _torch_pin()])
        _call([*pip, _torch_pin(), *peer["packages"]])
    else:
        _call([*pip, *peer["packages"]])
    done.write_text(asked)
    return python


def _torch_pin() -> str:
    lines = (HERE.parent / "constraints.txt").read_text().splitlines()
    return next(line for line in lines if line.startswith("torch=="))


def _call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise PeerMissingError(f"not installed: {said[-1] if said else 'pip failed'}")
