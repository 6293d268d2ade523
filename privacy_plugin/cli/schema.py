"""`schema`: the JSON Schema of the policy file, by which editors complete it, or of what `check --json` prints."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from privacy_plugin.cli.terminal import command


class Document(StrEnum):
    """What a schema is of."""

    POLICY = "policy"
    VERDICT = "verdict"


Of = Annotated[Document, typer.Argument(help="The policy file, or the verdict that check --json prints.")]


@command
def schema(of: Of = Document.POLICY) -> int:
    """Print the JSON Schema of the policy file, by which editors complete and check it, or of a printed verdict.

    For example, write `privacy-plugin schema > policy.schema.json`, and put this line at the top of a policy:
    `# yaml-language-server: $schema=policy.schema.json`
    """
    from privacy_plugin.policy.schema import policy_schema, verdict_schema

    typer.echo(json.dumps(policy_schema() if of is Document.POLICY else verdict_schema(), indent=2))
    return 0
