"""`demo`: the reference pipeline on a generated hospital."""

from pathlib import Path
from typing import Annotated

import typer

from privacy_plugin.cli.terminal import Terminal, command

Rows = Annotated[int, typer.Option(min=500, help="How many visits to generate.")]
Folder = Annotated[Path, typer.Option(help="The folder for the warehouse, the certificates and the reports.")]


@command
def demo(rows: Rows = 1_000_000, folder: Folder = Path("demo-output")) -> int:
    """Run the reference pipeline: a failed gate, anonymization, a passed gate, a certified release, a report.

    Generates hospital visits and a population register in an embedded database, and runs the same Dagster jobs that
    `dagster dev -m privacy_plugin.demo.definitions` shows in the browser. Needs the extra `dagster`.

    For example:

    - `privacy-plugin demo`
    - `privacy-plugin demo --rows 50000 --folder try-out`
    """
    from privacy_plugin.demo.run import run_demo  # Dagster takes seconds to load

    return run_demo(folder=folder, rows=rows, console=Terminal().console)
