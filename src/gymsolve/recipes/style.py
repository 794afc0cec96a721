"""The canonical order of keys in a recipe file.

It moves lines, with positions from ruamel's node tree, instead of dumping a loaded file: a comment stays with
the key below it, and the author's layout survives. The result is read back and compared, so formatting never
changes the meaning of a file.
"""

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node

from gymsolve.errors import ConfigError
from gymsolve.recipes.schema import ALGORITHM_MODELS, key_order
from gymsolve.recipes.yaml_reading import parse_yaml, read_text

_Keys = tuple[str, ...]
_Entry = tuple[Node, Node]


def format_recipe_file(path: Path, *, write: bool) -> bool:
    """Put the keys of a file in order; returns whether that changes it, and only then writes."""
    text = read_text(path)
    formatted = format_text(text, str(path))
    if formatted != text and write:
        path.write_text(formatted, encoding="utf-8")
    return formatted != text


def format_text(text: str, where: str) -> str:
    """The text of a recipe with its keys in canonical order and every comment kept."""
    if not text.endswith("\n"):
        text += "\n"
    data = parse_yaml(text, where)
    formatted = _Formatter(text).run(compose(text))
    if _same_meaning(formatted, data):
        return formatted
    raise ConfigError(
        "its keys cannot be reordered without changing its meaning.",
        where=where,
        hint="Anchors and `|+` texts are the usual reason.",
    )


def compose(text: str) -> MappingNode:
    """The node tree of a text that `parse_yaml` has accepted; nodes know their lines."""
    node = YAML(typ="rt", pure=True).compose(text)
    assert isinstance(node, MappingNode)
    return node


class _Formatter:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.splitlines(keepends=True)

    def run(self, root: MappingNode) -> str:
        if root.flow_style:
            return self._text
        first, end = self._header_end(root), self._footer_start()
        body = self._block(root, (), None, first, end)
        return "".join([*self._lines[:first], *body, *self._lines[end:]])

    def _footer_start(self) -> int:
        """Comments and blank lines at the end belong to the file, not to its last key."""
        end = len(self._lines)
        while not self._lines[end - 1].strip() or self._lines[end - 1].startswith("#"):
            end -= 1
        return end

    def _header_end(self, root: MappingNode) -> int:
        """Lines above the first key belong to the file; after a blank line they belong to the key."""
        first: int = root.value[0][0].start_mark.line
        blank = [index for index in range(first) if not self._lines[index].strip()]
        return blank[-1] + 1 if blank else first

    def _block(
        self, node: MappingNode, keys: _Keys, algorithm: str | None, first: int, end: int
    ) -> list[str]:
        """The lines [first, end) of a block mapping, in order."""
        algorithm = _algorithm(node, keys) or algorithm
        starts = [first, *(self._entry_start(node.value, i) for i in range(1, len(node.value))), end]
        pieces: dict[int, list[str]] = {}
        for index, (key, value) in enumerate(node.value):
            line = key.start_mark.line
            above = self._lines[starts[index] : line]
            pieces[index] = above + self._entry(key, value, (*keys, key.value), algorithm, starts[index + 1])
        order = _order(keys, algorithm)
        ranked = sorted(pieces, key=lambda index: _rank(node.value[index][0].value, order, index))
        lines: list[str] = []
        for index in ranked:
            lines += _one_blank_at_most(pieces[index], none=not lines)
        return lines

    def _entry(self, key: Node, value: Node, keys: _Keys, algorithm: str | None, end: int) -> list[str]:
        line = key.start_mark.line
        if not isinstance(value, MappingNode) or not value.value:
            return self._lines[line:end]
        if value.flow_style:
            return self._flow(value, keys, algorithm, line, end)
        if value.value[0][0].start_mark.line == line:
            return self._lines[line:end]
        return [self._lines[line], *self._block(value, keys, algorithm, line + 1, end)]

    def _flow(self, node: MappingNode, keys: _Keys, algorithm: str | None, line: int, end: int) -> list[str]:
        """`{a: 1, b: 2}` on one line; longer ones are left alone."""
        if node.start_mark.line != line or node.end_mark.line != line:
            return self._lines[line:end]
        text = self._lines[line]
        inside = self._flow_text(node, keys, algorithm)
        new = f"{text[: node.start_mark.column]}{inside}{text[node.end_mark.column :]}"
        return [new, *self._lines[line + 1 : end]]

    def _flow_text(self, node: MappingNode, keys: _Keys, algorithm: str | None) -> str:
        algorithm = _algorithm(node, keys) or algorithm
        order = _order(keys, algorithm)
        entries: list[tuple[tuple[int, int], str]] = []
        for index, (key, value) in enumerate(node.value):
            if isinstance(value, MappingNode) and value.flow_style:
                inside = self._flow_text(value, (*keys, key.value), algorithm)
            else:
                inside = self._text[value.start_mark.index : value.end_mark.index]
            lead = self._text[key.start_mark.index : value.start_mark.index]
            entries.append((_rank(key.value, order, index), lead + inside))
        return f"{{{', '.join(text for _, text in sorted(entries))}}}"

    def _entry_start(self, entries: list[_Entry], index: int) -> int:
        """The first line of an entry, with the comments and blank lines that stand above its key."""
        mark = entries[index][0].start_mark
        line: int = mark.line
        while line - 1 > entries[index - 1][0].start_mark.line:
            above = self._lines[line - 1]
            indent = len(above) - len(above.lstrip())
            if above.strip() and not (above.lstrip().startswith("#") and indent == mark.column):
                break
            line -= 1
        return line


def _same_meaning(text: str, data: dict[str, Any]) -> bool:
    try:
        return parse_yaml(text, "") == data
    except ConfigError:
        return False


def _algorithm(node: MappingNode, keys: _Keys) -> str | None:
    """The algorithm whose order applies below here, as far as this node says."""
    if len(keys) == 2 and keys[0] in ("variants", "algos") and keys[1] in ALGORITHM_MODELS:
        return keys[1]
    if keys[-1:] == ("algo",):
        names = [value.value for key, value in node.value if key.value == "name"]
        return names[0] if names and isinstance(names[0], str) else None
    return None


def _order(keys: _Keys, algorithm: str | None) -> list[str]:
    if keys == ():
        settings = key_order((), algorithm)
        after = settings.index("description") + 1
        settings[after:after] = ["known", "family"]
        settings.insert(settings.index("algo") + 1, "algos")
        return [*settings, "search", "variants"]
    if keys[0] == "variants":
        return key_order(keys[2:], algorithm) if len(keys) > 1 else []
    if keys[0] == "algos":
        return key_order(("algo", *keys[2:]), algorithm) if len(keys) > 1 else []
    return key_order(keys, algorithm)


def _rank(key: str, order: list[str], index: int) -> tuple[int, int]:
    return (order.index(key), 0) if key in order else (len(order), index)


def _one_blank_at_most(lines: list[str], *, none: bool) -> list[str]:
    blank = next((index for index, line in enumerate(lines) if line.strip()), len(lines))
    return lines[blank:] if none or not blank else lines[blank - 1 :]
