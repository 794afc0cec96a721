"""The pages of docs/environments/: one per family of environments.

Every environment with a recipe is built and looked at, so spaces, labels and keys are those that training
meets. `docs/generate.py` writes the pages.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import gymnasium as gym

from gymsolve.envs.describe import describe
from gymsolve.envs.families import GENERIC, Family, families, find_family
from gymsolve.envs.labels import ActionLabels, find_keys, key_words
from gymsolve.errors import UnsupportedSpaceError
from gymsolve.recipes import list_recipes, resolve
from gymsolve.recipes.files import Recipe
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import ActionSpec, ObsSpec

__all__ = ["render_environments"]

_MADE = "<!-- Made by docs/environment_pages.py from families and recipes; do not edit. -->\n"
_INDEX_INTRO = f"""\
{_MADE}
# Environments

What `gymsolve train` knows of each family. Any other Gymnasium environment trains too: settings are derived
from its spaces (see [guide.md](../guide.md)).
"""


_MOST_IDS = 120


def render_environments(folder: Path) -> dict[Path, str]:
    """Every page and its text."""
    recipes: dict[str, dict[str, list[Recipe]]] = {}
    for recipe in list_recipes():
        of_family = recipes.setdefault(find_family(recipe.env_id).name, {})
        of_family.setdefault(recipe.base, []).append(recipe)
    known = [family for family in families() if family.name in recipes]
    assert GENERIC.name not in recipes, "a bundled recipe belongs to no family"
    pages = {folder / _file_name(one): _render_family(one, recipes[one.name]) for one in known}
    rows = [
        (f"[{_title(one)}]({_file_name(one)})", _listed(recipes[one.name]), _install(one)) for one in known
    ]
    index = f"{_INDEX_INTRO}\n{_table(('family', 'recipes for', 'install'), rows)}"
    return {folder / "README.md": index, **pages}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _title(family: Family) -> str:
    return family.title or family.name


def _file_name(family: Family) -> str:
    return f"{family.name.replace(' ', '_')}.md"


def _render_family(family: Family, recipes: dict[str, list[Recipe]]) -> str:
    parts = [f"{_MADE}\n# {_title(family)}\n", _facts(family, set(recipes))]
    parts += [_render_env(variants) for variants in recipes.values()]
    return "\n".join(parts)


def _facts(family: Family, with_recipe: set[str]) -> str:
    lines = [f"Install: {_install(family)}."]
    if family.exclusive:
        lines.append("A process can hold one of them, so each copy gets a process of its own.")
    exact = (
        "native snapshots" if family.clone and family.clone.resumes else "a replay of the episode's actions"
    )
    if family.name == "ale":
        exact += "; where ALE's own class steps all games at once, by a replay of their actions"
    lines.append(f"A resumed run continues episodes under way bit for bit, by {exact}.")
    family.register()
    others = sorted(name for name in gym.registry if find_family(name) is family and name not in with_recipe)
    if others and family.recipe:
        told = f"{len(others)} more ids have no recipe of their own and take the settings of the family"
        more = f" and {len(others) - _MOST_IDS} more" if len(others) > _MOST_IDS else ""
        lines.append(
            f"<details><summary>{told}</summary>\n\n{_listed(others[:_MOST_IDS])}{more}\n\n</details>"
        )
    return "\n\n".join(lines) + "\n"


def _install(family: Family) -> str:
    return f"`pip install 'gymsolve[{family.extra.name}]'`" if family.extra else "nothing beyond gymsolve"


def _render_env(variants: Sequence[Recipe]) -> str:
    first = variants[0]
    config = resolve(first.name).config
    recipes = _table(
        ("recipe", "", "steps at most", "trained"),
        [
            (
                f"`{recipe.name}`",
                recipe.description,
                f"{resolve(recipe.name).config.steps:,}",
                "yes" if recipe.trained else "not yet",
            )
            for recipe in variants
        ],
    )
    if (absent := _absent(config.env.id)) is not None:
        told = _table(("", ""), [("solved", _solved(first)), *first.known.items()])
        return f"## {first.base}\n\n{absent}\n\n{told}\n{recipes}"
    seen = describe(config.env, "eval")
    try:
        given = describe(EnvConfig(id=config.env.id), "eval")  # as registered, without the recipe's arguments
    except UnsupportedSpaceError:  # its first wrapper makes the actions fit, and leaves what is seen
        first_only = config.env.wrappers[:1]
        given = describe(EnvConfig(id=config.env.id, kwargs=config.env.kwargs, wrappers=first_only), "eval")
    rows = [
        ("the environment gives", _observation(given.spec.obs)),
        ("the network sees", _observation(seen.spec.obs)),
        ("actions", _actions(config.env.id, seen.labels, seen.spec.action)),
        ("episodes", _limit(seen.spec.max_episode_steps, given.spec.max_episode_steps)),
        ("solved", _solved(first)),
        *first.known.items(),
    ]
    return f"## {first.base}\n\n" + "\n".join([_table(("", ""), rows), recipes])


def _absent(env_id: str) -> str | None:
    """What a user has to bring along before the environment can be built; None for all others."""
    game = env_id.removeprefix("Retro/")
    if game == env_id or game in ("MeadowRun-Nes-v0", "Airstriker-Genesis-v0"):
        return None
    return "Its ROM is not free: bring your own with `gymsolve roms import PATH`."


def _observation(entries: dict[str, ObsSpec]) -> str:
    if list(entries) == ["obs"]:
        return _entry(entries["obs"])
    return "; ".join(f"`{name}`: {_entry(one)}" for name, one in entries.items())


def _entry(one: ObsSpec) -> str:
    if one.kind == "image":
        channels, height, width = one.shape
        return f"a picture of {width} × {height}, {channels} channel{'s' * (channels != 1)}"
    if one.kind == "discrete":
        many = len(one.nvec)
        return f"one of {one.nvec[0]}" if many == 1 else f"{many} categories"
    if one.shape == (1,):
        return "a number"
    return f"{one.shape[0]} numbers" if len(one.shape) == 1 else f"numbers of shape {one.shape}"


def _actions(env_id: str, labels: ActionLabels, action: ActionSpec) -> str:
    if labels.parts:
        return _parts(env_id, labels)
    keys = {choice: pressed for pressed, choice in find_keys(env_id, labels).items()}
    if not labels.names:
        return _unnamed(action)
    told = []
    for choice, name in enumerate(labels.names):
        pressed = "+".join(keys.get(choice, ())) if labels.discrete else ""
        told.append(f"{name} ({pressed})" if pressed and pressed != name else name)
    called = "choice" if labels.discrete else "number"
    return f"{len(told)} {called}{'s' * (len(told) != 1)}: {', '.join(told)}"


def _parts(env_id: str, labels: ActionLabels) -> str:
    """Parts that are chosen at once; what does nothing goes without saying."""
    keys = key_words(env_id)
    told = [
        " or ".join(f"{name} ({keys[name]})" if name in keys else name for name in part if name)
        for part in labels.parts
    ]
    return f"{len(told)} parts, each of them or nothing: {'; '.join(told)}"


def _unnamed(action: ActionSpec) -> str:
    if action.kind == "box":
        return f"{action.size} number{'s' * (action.size != 1)}"
    if action.kind == "discrete":
        return f"{action.nvec[0]} choices"
    return f"{action.size} parts of {', '.join(map(str, action.nvec))} choices"


def _limit(steps: int | None, bare: int | None) -> str:
    if steps is None:
        return "no time limit is registered"
    if steps == bare:
        return f"at most {steps:,} steps"
    other = "without it there is no limit" if bare is None else f"{bare:,} without it"
    return f"at most {steps:,} steps with this recipe, {other}"


def _solved(recipe: Recipe) -> str:
    config = resolve(recipe.name).config
    threshold = config.solved_at
    if threshold is None:
        registered = gym.spec(recipe.env_id).reward_threshold
        told = "no threshold" if registered is None else f"{registered:g} on average, as registered"
    else:
        told = f"{threshold:g} on average" if config.solved_by == "return" else f"{threshold:.0%} succeed"
    return told


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
