"""Which commands there are. Only names and help: what a command needs is imported when it runs."""

import difflib
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from gymsolve.cli.commands import (
    bench,
    check,
    demos,
    diagnose,
    doctor,
    evaluate,
    fix,
    inspect,
    log,
    mcp,
    play,
    recipes,
    record,
    report,
    review,
    roms,
    runs,
    share,
    train,
    tune_speed,
    web,
)
from gymsolve.errors import UsageError


class ListByDefault(TyperGroup):
    """`gymsolve runs cartpole` is short for `gymsolve runs list cartpole`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            if args:
                self._refuse_near_miss(args[0])
            args = ["list", *args]
        return super().parse_args(ctx, args)

    def _refuse_near_miss(self, word: str) -> None:
        """Refuse a word that is almost a command: a search for it would find nothing and say so little."""
        near = difflib.get_close_matches(word.lower(), self.commands, n=1, cutoff=0.75)
        if near:
            raise UsageError(
                f"No such command '{word}'. Did you mean '{near[0]}'?",
                hint=f"To search for the word: gymsolve {self.name} list {word}",
            )


def _new(help_text: str) -> typer.Typer:
    # Without markup mode typer leaves rich alone, which would cost more than everything else here.
    return typer.Typer(
        help=help_text,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"max_content_width": 100},
    )


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"gymsolve {version('gymsolve')}")
        raise typer.Exit


app = _new("Name an environment, get a solved agent and an explanation.")


@app.callback(
    invoke_without_command=True,
    epilog="Exit codes: 0 done, 1 the work failed, 2 the request was wrong, 129 the terminal was closed, "
    "130 stopped by Ctrl-C or `gymsolve stop`, 143 terminated.",
)
def root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show tracebacks of errors; anywhere on the line, or GYMSOLVE_DEBUG=1."),
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


app.command("train")(train.train)
app.command("resume")(train.resume)
app.command("fork")(train.fork)
app.command("eval")(evaluate.evaluate)
app.command("record")(record.record)
app.command("stop")(train.stop)
app.command("push")(share.push)
app.command("pull")(share.pull)

runs_app = _new("Runs: list, look at, compare.")
runs_app.command("list")(runs.list_them)
runs_app.command("show")(runs.show)
runs_app.command("compare")(runs.compare)
app.add_typer(runs_app, name="runs", cls=ListByDefault)

recipes_app = _new("Recipes: list, look at, check, format.")
recipes_app.command("list")(recipes.list_them)
recipes_app.command("show")(recipes.show)
recipes_app.command("check")(recipes.check)
recipes_app.command("format")(recipes.format_files)
app.add_typer(recipes_app, name="recipes", cls=ListByDefault)

roms_app = _new("ROMs of console games: list, import, save further states.")
roms_app.command("list")(roms.list_them)
roms_app.command("import")(roms.import_files)
roms_app.command("state")(roms.save)
app.add_typer(roms_app, name="roms", cls=ListByDefault)

demos_app = _new("Episodes that people played: list, look at, export.")
demos_app.command("list")(demos.list_them)
demos_app.command("show")(demos.show)
demos_app.command("export")(demos.export)
app.add_typer(demos_app, name="demos", cls=ListByDefault)

log_app = _new("The logbook: what was tried, and what came of it.")
log_app.command("list")(log.list_them)
log_app.command("add")(log.add)
app.add_typer(log_app, name="log", cls=ListByDefault)

mcp_app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    callback=mcp.serve,
)
mcp_app.command("install")(mcp.install)
mcp_app.command("skill")(mcp.skill)
app.add_typer(mcp_app, name="mcp")

app.command("inspect")(inspect.inspect)
app.command("web")(web.web)
app.command("play")(play.play)

app.command("diagnose")(diagnose.diagnose)
app.command("report")(report.report)
app.command("review")(review.review)
app.command("fix")(fix.fix)
app.command("check")(check.check)
app.command("doctor")(doctor.doctor)
app.command("bench")(bench.bench)
app.command("tune-speed")(tune_speed.tune_speed)


@cache
def command_tree() -> Any:
    """All commands, ready to be called; building them takes longer than some of them do."""
    return get_command(app)
