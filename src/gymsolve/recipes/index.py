"""The contents of the bundled recipe files as JSON, since parsing their YAML would take most of the time.

Each entry carries the checksum of the text it was made from. A file that has been edited since is simply
parsed again, so the index can be old but never wrong. `python -m gymsolve.recipes.index` writes it anew.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from gymsolve.recipes.yaml_reading import parse_yaml

ZOO = Path(__file__).parent.parent / "zoo"
INDEX = ZOO / "index.json"


def indexed(path: Path, text: str) -> dict[str, Any] | None:
    """The content of a bundled file whose text is `text`; None when it has to be parsed."""
    if path.parent != ZOO:
        return None
    entry = _entries().get(path.name)
    return json.loads(entry["json"]) if entry and entry["sha256"] == _checksum(text) else None


def make_index() -> str:
    """The text of `index.json`, from the files as they are."""
    entries = {}
    for path in sorted(ZOO.glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        # JSON text within JSON: readers decode only the entries they need, and get copies of their own.
        content = json.dumps(parse_yaml(text, str(path)), ensure_ascii=False)
        entries[path.name] = {"sha256": _checksum(text), "json": content}
    return json.dumps(entries, ensure_ascii=False, indent=1) + "\n"


@cache
def _entries() -> dict[str, dict[str, str]]:
    entries: dict[str, dict[str, str]] = json.loads(INDEX.read_text(encoding="utf-8"))
    return entries


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    INDEX.write_text(make_index(), encoding="utf-8")
