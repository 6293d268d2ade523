"""All commands of `privacy-plugin`."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import privacy_plugin
from privacy_plugin.cli.anonymize import anonymize
from privacy_plugin.cli.attack import attack
from privacy_plugin.cli.certify import certify, release, verify
from privacy_plugin.cli.check import check
from privacy_plugin.cli.clean import clean
from privacy_plugin.cli.compare import compare
from privacy_plugin.cli.compile import compile as compile_loops
from privacy_plugin.cli.demo import demo
from privacy_plugin.cli.explain import explain
from privacy_plugin.cli.explore import explore
from privacy_plugin.cli.hierarchy import hierarchy
from privacy_plugin.cli.history import history
from privacy_plugin.cli.init import init
from privacy_plugin.cli.keys import keys
from privacy_plugin.cli.ledger import ledger
from privacy_plugin.cli.report import report
from privacy_plugin.cli.schema import schema
from privacy_plugin.cli.suggest import suggest


def _hide_flag_types(parameters: list[Any]) -> list[Any]:
    """Remove the metavar of flags: Typer shows `--json <bool>`, although a flag takes no value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_flag_types(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_flag_types(super().get_params(ctx))


app = typer.Typer(
    cls=_Group,
    name="privacy-plugin",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Privacy gates for data pipelines: measure how private a table is, make it more private, keep the gate "
    "closed until it is. Exit codes: 0 passed, 1 a requirement failed, 2 bad usage or input.",
    epilog="Start with `privacy-plugin init data.csv --output policy.yaml`, review the policy, then "
    "`privacy-plugin check data.csv --policy policy.yaml`.",
)

for function in (
    init,
    hierarchy,
    check,
    anonymize,
    report,
    compare,
    explain,
    schema,
    explore,
    attack,
    ledger,
    clean,
    demo,
):
    app.command(cls=_Command)(function)
for signed in (certify, release, verify):
    app.command(cls=_Command)(signed)
app.command("compile", cls=_Command)(compile_loops)
for group, name in ((suggest, "suggest"), (keys, "keys"), (history, "history")):
    for registered in group.registered_commands:
        registered.cls = _Command
    app.add_typer(group, name=name, cls=_Group)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(privacy_plugin.__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Handle the options before the command name."""
