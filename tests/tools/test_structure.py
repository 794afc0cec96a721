"""`tools/structure.py` counts what it says, on sources whose numbers are known."""

import json
import subprocess
import sys
from pathlib import Path

from tools.structure import LABELS, Structure, format_table, measure

ROOT = Path(__file__).parents[2]
SOURCES = {
    "gymsolve/__init__.py": "from gymsolve.a import Trainer\n",
    "gymsolve/a.py": '''"""What this is."""
from typing import TYPE_CHECKING

from gymsolve import b
from gymsolve.c.a import Other

if TYPE_CHECKING:
    from gymsolve.d import Late

__all__ = [*("Trainer", "run"), "other"]


class Trainer:
    """A record."""

    one: int
    two: int
    """Who reads it."""

    def run(self, a, b, c, d, e, f, g, h):
        import json

        told, found = a, b
        for one in (told, found):
            told = one
''',
    "gymsolve/b.py": "import gymsolve.c.a\n",
    "gymsolve/c/__init__.py": "",
    "gymsolve/c/a.py": "import gymsolve.b\n\n\nclass Other: ...\n",
    "gymsolve/d.py": """from gymsolve.a import Trainer


class Late: ...


class Other: ...


def wide(a, b, c, d, e, f, *, g, h, i):
"""
    + "    a += 1\n" * 60,
}


def test_known_sources_have_known_numbers():
    counted = measure(SOURCES)
    assert counted == Structure(
        files=6,
        lines=sum(len(text.splitlines()) for text in SOURCES.values()),
        median_file=14,
        p90_file=70,
        longest_file=70,
        long_functions=1,
        long_classes=0,
        functions_with_many_parameters=1,
        modules_in_import_cycles=2,
        imports_inside_functions=1,
        largest_fan_out=3,
        largest_fan_out_module="a",
        names_in_all=3,
        file_names_used_twice=1,
        class_names_used_twice=1,
        trainer_fields=2,
        docstrings_with_what_or_who=2,
        told=2,
        one=2,
        found=1,
    )


def test_every_number_has_a_row():
    table = format_table({"before": measure(SOURCES), "after": measure(SOURCES)})
    assert len(table.splitlines()) == 2 + len(LABELS)
    assert "| files | 6 | 6 |" in table


def test_the_command_measures_this_project():
    command = [sys.executable, ROOT / "tools" / "structure.py", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    counted = json.loads(done.stdout)["working tree"]
    assert counted["files"] == len(list((ROOT / "src").rglob("*.py")))
    assert counted["trainer_fields"] > 0
