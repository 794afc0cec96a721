"""`gymsolve check`: examine an environment before training on it."""

from shlex import quote
from typing import Annotated, Any

from typer import Argument

from gymsolve.cli.options import Json, Set
from gymsolve.cli.printing.output import heading, print_json, print_lines, print_pairs, print_section, say
from gymsolve.cli.printing.plan import plan_lines
from gymsolve.recipes import parse_overrides
from gymsolve.text import count, duration, number
from gymsolve.training.planning.plan import Plan, plan_run


def check(
    env: Annotated[
        str,
        Argument(metavar="ENV[:VARIANT]", help="A recipe or any Gymnasium id; ENV:derived uses no recipe."),
    ],
    set_: Set = None,
    json: Json = False,
) -> int:
    """Examine an environment: spaces, seeds, speed, what policies that know nothing earn, problems."""
    plan = plan_run(env, parse_overrides(set_ or ()))
    from gymsolve.service.environments import check_env

    facts = check_env(plan).to_json()
    if json:
        print_json(facts)
    else:
        options = "".join(f" --set {quote(change)}" for change in set_ or ())
        _print_facts(facts, plan, f"gymsolve train {facts['name']}{options}")
    return 1 if facts["problems"] else 0


def _print_facts(facts: dict[str, Any], plan: Plan, next_command: str) -> None:
    say(facts["name"])
    print_pairs(_pairs(facts))
    headers = ("policy", "episodes", "mean return", "mean length", "terminated", "truncated", "rewards")
    rows = map(_census_row, facts["census"])
    print_section("Under policies that know nothing", headers, rows, right=headers[1:])
    print_lines("Notes", facts["notes"])
    print_lines("Cautions", facts["cautions"])
    heading("Suggested settings")
    say("\n".join(plan_lines(plan)[1:]))
    say(f"  start with: {next_command}")
    if not facts["problems"]:
        heading("No mistakes found; see the cautions above." if facts["cautions"] else "No problems found.")
    print_lines("Problems", facts["problems"])


def _pairs(facts: dict[str, Any]) -> list[tuple[str, str]]:
    spec, seeds = facts["spec"], facts["determinism"]
    threshold = spec["reward_threshold"] if facts["solved_at"] is None else facts["solved_at"]
    speeds = ", ".join(f"{name} {count(fps)}" for name, fps in facts["steps_per_second"].items())
    pairs = [
        *((f"observation {name}", _describe_space(space)) for name, space in spec["obs"].items()),
        ("action", _describe_space(spec["action"])),
        ("action masks", "yes" if spec["masked"] else "no"),
        ("threshold", number(threshold)),
        ("time limit", f"{spec['max_episode_steps']} steps" if spec["max_episode_steps"] else "none known"),
    ]
    if spec["components"]:
        pairs.append(("reward made of", ", ".join(spec["components"])))
    if facts["offers"]:
        pairs.append(("numbers in info", f"{', '.join(facts['offers'])} (may become reward_components)"))
    if seeds is not None:
        pairs.append(("same seed", "same trajectory" if seeds["seed_reproduces"] else "another trajectory"))
        other = "same trajectory" if seeds["copies_identical"] else "other trajectories"
        pairs.append(("other seeds", other))
    for name, seconds in (("one step", facts["step_seconds"]), ("one reset", facts["reset_seconds"])):
        if seconds is not None:
            pairs.append((name, f"{1e6 * seconds:,.0f} µs"))
    pairs.append(("steps per second", f"{speeds} (this recipe uses {facts['backend']})"))
    if facts["seconds_of_stepping"] is not None:
        least = duration(facts["seconds_of_stepping"])
        pairs.append(("budget", f"{count(facts['steps'])} steps: {least} of stepping, learning comes on top"))
    return pairs


def _describe_space(space: dict[str, Any]) -> str:
    choices = f", choices {list(space['nvec'])}" if space["nvec"] else ""
    return f"{space['kind']} {tuple(space['shape'])} {space['dtype']}{choices}"


def _census_row(policy: dict[str, Any]) -> tuple[str, ...]:
    rewards = f"{number(policy['min_reward'])} to {number(policy['max_reward'])}"
    return (
        policy["policy"],
        count(policy["episodes"]),
        number(policy["mean_return"]),
        number(policy["mean_length"]),
        count(policy["terminated"]),
        count(policy["truncated"]),
        f"{rewards}, {policy['nonzero_rewards']:.0%} not 0",
    )
