"""Draws the small pictures of environments on the page where one chooses what to play.

`python -m tools.env_pictures` draws the environments that have a recipe and no picture yet; `--all` draws
every one again. What cannot be drawn on this machine keeps its picture, or has none. The table beside the
pictures names the family of each environment too, since the web server imports no environment.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "src" / "gymsolve" / "web" / "static" / "environments"
TABLE = ROOT / "src" / "gymsolve" / "web" / "environments.json"
_SIZE = (240, 160)
_STEPS = 70
_LONGEST = 120


def main(words: list[str]) -> int:
    if words[:1] == ["--one"]:
        draw(words[1], Path(words[2]))
        return 0
    from gymsolve.envs.families import find_family
    from gymsolve.service.recipes import list_recipes

    FOLDER.mkdir(exist_ok=True)
    table = {}
    for env_id in sorted({recipe.env_id for recipe in list_recipes().recipes}):
        picture = FOLDER / f"{re.sub('[^A-Za-z0-9]+', '-', env_id)}.webp"
        if "--all" in words or not picture.exists():
            print(env_id, _draw_apart(env_id, picture))
        family = find_family(env_id)
        name = picture.name if picture.exists() else None
        table[env_id] = {"family": family.title or family.name, "picture": name}
    TABLE.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")
    return 0


def _draw_apart(env_id: str, picture: Path) -> str:
    """Draw in a process of its own: some families allow one environment in a process."""
    command = [sys.executable, "-m", "tools.env_pictures", "--one", env_id, str(picture)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return "takes too long"
    return "drawn" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def draw(env_id: str, picture: Path) -> None:
    """Draw an environment after some steps at random."""
    import numpy as np
    from PIL import Image, ImageOps

    from gymsolve.envs.open_render_env import open_play_env
    from gymsolve.recipes import resolve

    config = resolve(env_id, {}).config.env
    env = open_play_env(config)
    if env.undrawn:
        raise SystemExit(env.undrawn)
    rng = np.random.default_rng(0)
    scene, action = env.reset(0), env.spec.action
    frame = env.render()
    for _ in range(_STEPS):
        if action.nvec:
            chosen = np.array([[rng.integers(choices) for choices in action.nvec]])
        else:
            chosen = rng.uniform(-0.5, 0.5, (1, action.size))
        scene = env.step(action.to_env(chosen))
        if scene.terminated or scene.truncated:
            break
        frame = env.render()
    env.close()
    image = Image.fromarray(np.asarray(frame))
    small = min(image.size) < 120  # pixels of a small screen stay sharp
    method = Image.Resampling.NEAREST if small else Image.Resampling.LANCZOS
    ImageOps.fit(image, _SIZE, method, centering=(0.5, 0.5)).save(picture, quality=70, method=6)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
