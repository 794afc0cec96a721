"""A policy without a model: does each task by a fixed plan, through the same tools."""

import re

from benchmarks.agent.session import Session

__all__ = ["play"]


async def play(session: Session, question: str) -> str:
    """The last words of the agent."""
    await session.ask("rl_logbook")
    if "newest solved" in question:
        listed = await session.call("rl_runs", query="status:solved", limit=1)
        return listed.split()[0]
    if question.startswith("Why"):
        found = await session.ask("rl_diagnose", run="@last")
        return found["roots"][0]["id"] if found["roots"] else "no alert fired"
    if "does not learn" in question:
        return await _mend(session)
    env = re.search(r"[\w:]+-v\d+", question)
    assert env is not None
    return await _solve(session, env[0], steps=40_000 if "40,000" in question else None)


async def _solve(session: Session, env: str, steps: int | None) -> str:
    planned = await session.ask("rl_plan", env=env)
    given = {} if steps is None else {"steps": steps}
    started = await session.ask("rl_start", env=env, key=f"solve {env}", **given)
    told = await _follow(session, started["run"])
    verdict = "confirmed" if told["status"] == "solved" else "refuted"
    result = f"{told['status']} after {told['env_steps']} steps, best return {told['best_return']}"
    await session.ask(
        "rl_logbook",
        action="add",
        hypothesis=f"{planned['name']} solves {env} as it is",
        result=result,
        verdict=verdict,
        runs=[started["run"]],
    )
    return f"{started['run']}: {result}"


async def _follow(session: Session, run: str) -> dict:
    cursor = ""
    while True:
        told = await session.ask("rl_run", run=run, wait=45, until="end", since=cursor)
        cursor = told["cursor"]
        if told["status"] != "running":
            return told


async def _mend(session: Session) -> str:
    """Take the remedy of the first root cause, or the recipe itself where there is none."""
    found = await session.ask("rl_diagnose", run="@last")
    roots = found["roots"]
    changes = {one["path"]: one["new"] for one in (roots[0]["changes"] if roots else [])}
    for settings in (changes, {}):
        started = await session.ask("rl_start", env="CartPole-v1", set=settings, key=f"mend {settings}")
        told = await _follow(session, started["run"])
        if told["status"] == "solved":
            break
    cause = roots[0]["id"] if roots else "nothing that an alert knows"
    return f"The cause was {cause}; {started['run']} is {told['status']}."
