"""`gymsolve check`: examine an environment before training on it."""

from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gymsolve.cli.options import Json, Set, overrides
from gymsolve.cli.printing.output import heading, print_json, print_pairs, print_table, say
from gymsolve.text import count, duration, number

if TYPE_CHECKING:
    from gymsolve.training.planning.plan import Plan


def check(
    env: Annotated[str, typer.Argument(metavar="ENV[:VARIANT]", help="A recipe or any Gymnasium id.")],
    set_: Set = None,
    json: Json = False,
) -> int:
    """Examine an environment: spaces, seeds, speed, what policies that know nothing earn, problems."""
    changes = overrides(set_)
    from gymsolve.service.environments import check_env
    from gymsolve.training.planning.plan import plan_run

    plan = plan_run(env, changes)
    told = check_env(plan).to_json()
    if json:
        print_json(told)
    else:
        given = "".join(f" --set {quote(one)}" for one in set_ or ())
        _tell(told, plan, f"gymsolve train {told['name']}{given}")
    return 1 if told["problems"] else 0


def _tell(told: dict[str, Any], plan: "Plan", next_command: str) -> None:
    from gymsolve.cli.printing.plan import plan_lines

    say(told["name"])
    print_pairs(_facts(told))
    if told["census"]:
        heading("Under policies that know nothing")
        headers = ("policy", "episodes", "mean return", "mean length", "terminated", "truncated", "rewards")
        print_table(headers, [_census(one) for one in told["census"]], right=headers[1:])
    for title, lines in (("Notes", told["notes"]), ("Cautions", told["cautions"])):
        if lines:
            heading(title)
            say("\n".join(f"  {line}" for line in lines))
    heading("Suggested settings")
    say("\n".join(plan_lines(plan)[1:]))
    say(f"  start with: {next_command}")
    heading("Problems" if told["problems"] else "No problems found.")
    for problem in told["problems"]:
        say(f"  {problem}")


def _facts(told: dict[str, Any]) -> list[tuple[str, str]]:
    spec, seeds = told["spec"], told["determinism"]
    speeds = ", ".join(f"{name} {count(fps)}" for name, fps in told["steps_per_second"].items())
    facts = [
        *((f"observation {name}", _entry(entry)) for name, entry in spec["obs"].items()),
        ("action", _entry(spec["action"])),
        ("action masks", "yes" if spec["masked"] else "no"),
        ("threshold", number(spec["reward_threshold"] if told["solved_at"] is None else told["solved_at"])),
        ("time limit", f"{spec['max_episode_steps']} steps" if spec["max_episode_steps"] else "none known"),
    ]
    if spec["components"]:
        facts.append(("reward made of", ", ".join(spec["components"])))
    if told["offers"]:
        facts.append(("numbers in info", f"{', '.join(told['offers'])} (may become reward_components)"))
    if seeds is not None:
        facts.append(("same seed", "same trajectory" if seeds["seed_reproduces"] else "another trajectory"))
        facts.append(
            ("other seeds", "same trajectory" if seeds["copies_identical"] else "other trajectories")
        )
    if told["step_seconds"] is not None:
        facts.append(("one step", f"{1e6 * told['step_seconds']:,.0f} µs"))
    if told["reset_seconds"] is not None:
        facts.append(("one reset", f"{1e6 * told['reset_seconds']:,.0f} µs"))
    facts.append(("steps per second", f"{speeds} (this recipe uses {told['backend']})"))
    if told["seconds_of_stepping"] is not None:
        least = duration(told["seconds_of_stepping"])
        facts.append(("budget", f"{count(told['steps'])} steps: {least} of stepping, learning comes on top"))
    return facts


def _entry(entry: dict[str, Any]) -> str:
    told = f"{entry['kind']} {tuple(entry['shape'])} {entry['dtype']}"
    return f"{told}, choices {list(entry['nvec'])}" if entry["nvec"] else told


def _census(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        one["policy"],
        count(one["episodes"]),
        number(one["mean_return"]),
        number(one["mean_length"]),
        count(one["terminated"]),
        count(one["truncated"]),
        f"{number(one['min_reward'])} to {number(one['max_reward'])}, {one['nonzero_rewards']:.0%} not 0",
    )
