"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

_DATA = (
    "The table: a .csv, .tsv, .parquet, .jsonl or .xlsx file, a folder of Parquet files, an s3://, gs:// or az:// URL, "
    "delta:<place> or iceberg:<catalog>/<table>. For a database, pass --url and --table instead."
)

Data = Annotated[Path | None, typer.Argument(metavar="DATA", help=_DATA, show_default=False)]
Url = Annotated[
    str | None,
    typer.Option(
        envvar="PRIVACY_PLUGIN_URL",
        show_envvar=True,
        help="SQLAlchemy URL of a DuckDB, SQLite or PostgreSQL database.",
        show_default=False,
    ),
]
Table = Annotated[
    str | None, typer.Option(help="The table of that database: table or schema.table.", show_default=False)
]
PolicyFile = Annotated[Path, typer.Option("--policy", "-p", help="The policy file (YAML).", show_default=False)]
Population = Annotated[
    str | None,
    typer.Option(
        help="The second table of requirements that compare: the population, or the original of a generated table. A "
        "file, or a table of the same database. Default: the population that the policy names.",
        show_default=False,
    ),
]
Ledger = Annotated[
    str | None,
    typer.Option(
        envvar="PRIVACY_PLUGIN_LEDGER",
        show_envvar=True,
        help="SQLAlchemy URL of the privacy budget ledger (SQLite or PostgreSQL), if the policy needs one.",
        show_default=False,
    ),
]
History = Annotated[
    str | None,
    typer.Option(
        envvar="PRIVACY_PLUGIN_HISTORY",
        show_envvar=True,
        help="SQLAlchemy URL of the history of releases (SQLite or PostgreSQL).",
        show_default=False,
    ),
]
WithoutIdentifiers = Annotated[
    bool,
    typer.Option("--without-identifiers", help="Judge the table without its identifier columns."),
]
CertificateFolder = Annotated[
    Path | None,
    typer.Option(help="Write the signed verdict to this folder; a release checks it.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else to standard output.")]
Reveal = Annotated[bool, typer.Option("--reveal", help="Show the worst classes with their values.")]
Force = Annotated[bool, typer.Option("--force", help="Replace outputs that exist.")]
PlanFile = Annotated[
    Path | None, typer.Option("--plan", help="The saved plan that made the table.", show_default=False)
]
