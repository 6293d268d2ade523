"""The arguments that commands share."""

from pathlib import Path
from typing import Annotated

import typer

_DATA = "The table: a .csv, .tsv or .parquet file. Or leave it out and give --url and --table."

Data = Annotated[Path | None, typer.Argument(metavar="DATA", help=_DATA, show_default=False)]
Url = Annotated[
    str | None,
    typer.Option(
        envvar="PRIVACY_PLUGIN_URL",
        show_envvar=True,
        help="SQLAlchemy URL of a DuckDB, SQLite or PostgreSQL database, instead of a file.",
        show_default=False,
    ),
]
Table = Annotated[str | None, typer.Option(help="The table of that database: name or schema.name.", show_default=False)]
PolicyFile = Annotated[Path, typer.Option("--policy", "-p", help="The policy (YAML).", show_default=False)]
Population = Annotated[
    str | None,
    typer.Option(
        help="The table to compare with, the population or the original of a generated table: a file, or a table of "
        "the same database. Default: the one that the policy names, where a requirement needs it.",
        show_default=False,
    ),
]
Ledger = Annotated[
    str | None,
    typer.Option(
        envvar="PRIVACY_PLUGIN_LEDGER",
        show_envvar=True,
        help="SQLAlchemy URL of the privacy budget ledger (SQLite or PostgreSQL), where the policy needs one.",
        show_default=False,
    ),
]
WithoutIdentifiers = Annotated[
    bool,
    typer.Option("--without-identifiers", help="Judge the table as it would be without its identifier columns."),
]
CertificateFolder = Annotated[
    Path | None,
    typer.Option(help="Record the verdict here, signed, for whoever releases the table.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on standard output.")]
Reveal = Annotated[bool, typer.Option("--reveal", help="Show values of the table: which classes are the worst.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")]
