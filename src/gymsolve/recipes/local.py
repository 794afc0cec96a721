"""Writes the settings of a run as a new variant into `./recipes`."""

from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from gymsolve.errors import ConfigError, UsageError
from gymsolve.recipes.files import split_name
from gymsolve.recipes.layers import nest
from gymsolve.recipes.resolving import Resolved
from gymsolve.recipes.schema import flatten
from gymsolve.recipes.style import format_text
from gymsolve.recipes.validation import validate
from gymsolve.settings.config import TrainConfig
from gymsolve.text import setting


def write_variant(
    resolved: Resolved, changes: dict[str, Any], suffix: str, reasons: list[str]
) -> tuple[Path, str]:
    """`CartPole-v1:ppo` with changes as the variant `ppo_<suffix>`; the file, and the new recipe's name."""
    base, variant = split_name(resolved.name)
    path = Path("recipes") / f"{base.replace('/', '-').replace(':', '-')}.yaml"
    name = f"{variant}_{suffix}"
    settings = {key: value for key, value in _deciding(resolved.config).items() if key != "env.id"} | changes
    description = resolved.config.description
    settings["description"] = f"{description} ({suffix})" if description else suffix.capitalize()
    whole = {
        path: value if path.startswith("env.kwargs") else _whole(value) for path, value in settings.items()
    }
    data = {"env": {"id": resolved.config.env.id}, "variants": {name: nest(whole)}}
    text = "".join(f"# {line}\n" for line in reasons) + _dumped(data)
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(format_text(text, str(path)))
    except FileExistsError as error:
        raise UsageError(
            "there is such a file already, and it is yours.",
            where=str(path),
            hint=f"Move it, or add to it by hand: {_told(changes)}.",
        ) from error
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}.", where=str(path)) from error
    return path, f"{base}:{name}"


def _deciding(config: TrainConfig) -> dict[str, Any]:
    """The algorithm, and settings that differ from its defaults."""
    bare = flatten(validate({"env": {"id": config.env.id}, "algo": {"name": config.algo.name}}))
    own = {path: value for path, value in flatten(config).items() if value != bare.get(path)}
    return {"algo.name": config.algo.name, **own}


def _told(changes: dict[str, Any]) -> str:
    return ", ".join(f"{path}={setting(value)}" for path, value in changes.items()) or "nothing"


def _whole(value: Any) -> Any:
    """A whole number of a schedule as people write it: 10 and not 10.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _dumped(data: dict[str, Any]) -> str:
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = 100
    out = StringIO()
    yaml.dump(data, out)
    return out.getvalue()
