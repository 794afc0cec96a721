"""The table that ends a smoke test: what was tried of each recipe, and what was left out for which reason."""

from typing import Any

_COLUMNS = ("recipe", "trained", "resumed", "filmed")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    rows = []
    for outcome in ("passed", "failed", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            told = dict(report.user_properties)
            if "recipe" in told:
                rows.append((outcome, told))
    if not rows:
        return
    terminalreporter.section("recipes")
    width = max(len(told["recipe"]) for _, told in rows)
    for outcome, told in sorted(rows, key=lambda row: row[1]["recipe"].lower()):
        rest = told.get("skipped") or "  ".join(
            f"{column} {told.get(column, '-'):<11}" for column in _COLUMNS[1:]
        )
        terminalreporter.write_line(f"{told['recipe']:<{width}}  {outcome:<7}  {rest}".rstrip())
