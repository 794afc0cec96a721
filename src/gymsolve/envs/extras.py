"""Finds the extras that an environment still needs here.

`python -m gymsolve.envs.extras ENV` prints their names; `make solve` installs them before it trains.
"""

import sys
from importlib.util import find_spec

from gymsolve.envs.families import find_family
from gymsolve.envs.families.family import IMAGES
from gymsolve.errors import GymsolveError
from gymsolve.recipes import resolve
from gymsolve.recipes.files import split_name, uses_recipe
from gymsolve.registry import IMAGE_WRAPPERS
from gymsolve.settings.config import EnvConfig


def missing_extras(config: EnvConfig) -> list[str]:
    """Names of the extras to install; the extra of a family brings what its recipes need."""
    family = find_family(config.id).extra
    if family is not None and find_spec(family.module) is None:
        return [family.name] if family.name else []
    drawing = any(wrapper.name in IMAGE_WRAPPERS for wrapper in config.wrappers)
    return [IMAGES.name] if drawing and find_spec(IMAGES.module) is None else []


def main(name: str) -> None:
    """Print one name per line; whatever else is wrong with the name is for `gymsolve train` to say."""
    try:
        known = uses_recipe(name)
        config = resolve(name).config.env if known else EnvConfig(id=split_name(name)[0])
        missing = missing_extras(config)
    except GymsolveError:
        return
    for extra in missing:
        sys.stdout.write(f"{extra}\n")


if __name__ == "__main__":
    main(sys.argv[1])
