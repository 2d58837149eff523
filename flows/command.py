"""What every command shares: global options, one-sentence errors and exit codes."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import typing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.progress import REPORTER, Reporter
from flows.settings import Settings, configure_environment, load_settings

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home", help="Folder of the warehouse (default: $CALIBRARY_HOME or .calibrary)."
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]

GLOBAL_OPTIONS: dict[str, Any] = {
    "home": HomeOption,
    "quiet": QuietOption,
    "as_json": JsonOption,
    "debug": DebugOption,
}


@dataclass(frozen=True)
class CommandContext:
    """What a command knows besides its own arguments."""

    settings: Settings
    reporter: Reporter
    as_json: bool

    def show(self, result: dict[str, Any], sentence: str) -> None:
        """Print *result* as JSON where asked for, else *sentence*."""
        if self.as_json:
            json.dump(result, sys.stdout, ensure_ascii=False, default=str)
            sys.stdout.write("\n")
        else:
            sys.stdout.write(sentence.rstrip() + "\n")


def remember_globals(context: typer.Context, **given: Any) -> None:
    """Keep the options given before the command name; those after it win."""
    context.obj = given


def with_global_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* the global options and pass it a `CommandContext` first.

    ``calibrary --home X status`` and ``calibrary status --home X`` mean the same.
    """
    signature = inspect.signature(command)
    hints = typing.get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name])
        for name, parameter in list(signature.parameters.items())[1:]
    ]
    shared = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if name == "home" else False,
            annotation=annotation,
        )
        for name, annotation in GLOBAL_OPTIONS.items()
        if name not in signature.parameters
    ]

    @functools.wraps(command)
    def wrapper(invocation: typer.Context, **arguments: Any) -> None:
        before = invocation.find_root().obj or {}
        chosen = {name: arguments.pop(name, None) or before.get(name) for name in GLOBAL_OPTIONS}
        settings = load_settings(chosen["home"])
        configure_environment(settings)
        reporter = Reporter(quiet=bool(chosen["quiet"]))
        REPORTER.set(reporter)
        command(CommandContext(settings, reporter, bool(chosen["as_json"])), **arguments)

    invocation = inspect.Parameter(
        "invocation", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    parameters = [invocation, *own, *shared]
    wrapper.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {
        "return": None
    }
    return wrapper
