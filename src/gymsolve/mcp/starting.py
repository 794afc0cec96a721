"""The answer to a start, the same for runs, groups of seeds and trials of a remedy."""

from gymsolve.mcp.tool import Record
from gymsolve.service.agent_limits import Allowance

FOLLOW = "rl_run(run, wait=45) follows it."


def begun(started: Allowance, following: str = FOLLOW) -> Record:
    """The run that was started, what is spent, and the call that follows it."""
    again = "Nothing new was started. " if started.already_started else ""
    doubtful = "Look at `doubts`: if they are right, stop it and start it with other settings. "
    return Record(started.to_json(), f"{doubtful if started.doubts else ''}{again}{following}")
