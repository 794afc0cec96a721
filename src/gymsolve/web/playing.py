"""What there is to play: the environments with a recipe, and the newest runs."""

from gymsolve.recipes import list_recipes
from gymsolve.runs.index import list_runs
from gymsolve.web.route import Ask, Reply, Route

__all__ = ["ROUTES"]

_MOST_RUNS = 50


def _choices(ask: Ask) -> Reply:
    recipes: dict[str, list[str]] = {}
    for recipe in list_recipes():
        recipes.setdefault(recipe.env_id, []).append(recipe.name)
    runs = list_runs(ask.home.runs_dir, limit=_MOST_RUNS, trials=False)
    return {
        "environments": [{"id": env_id, "names": names} for env_id, names in recipes.items()],
        "runs": [
            {"id": run.id, "env_id": run.env_id, "status": run.status}
            for run in runs
            if run.status != "damaged"
        ],
    }


ROUTES: tuple[Route, ...] = (Route("GET", "/play/choices", _choices),)
