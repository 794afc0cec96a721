"""Options that limit the runs that a server may start."""

from typing import Annotated

from typer import Option

from gymsolve.errors import UsageError
from gymsolve.settings.schedules import parse_amount

MaxHours = Annotated[
    float | None, Option("--max-hours", min=0.01, help="Most hours of training within 24 hours.")
]
MaxDisk = Annotated[
    float | None, Option("--max-disk", metavar="GB", min=0.01, help="Largest size of all runs.")
]


def read_steps(text: str | None) -> int | None:
    """The number of steps of `--max-steps`, such as 10M, if it is given."""
    if text is None:
        return None
    try:
        amount = parse_amount(text)
    except ValueError as error:
        raise UsageError(f"{error}.", where="--max-steps") from error
    if not 1 <= amount < 1e15:
        raise UsageError(
            f"{text} is no number of steps.", where="--max-steps", hint="Write 10M, for example."
        )
    return int(amount)
