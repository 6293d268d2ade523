"""`suggest`: the numbers of a requirement from what a person can decide, with the reasoning and the policy line."""

from collections.abc import Mapping
from typing import Annotated

import typer

from privacy_plugin.cli.options import Data, Json, PolicyFile, Table, Url
from privacy_plugin.cli.terminal import Terminal, command

suggest = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Suggest the numbers of a requirement or an option, with the reasoning and the line for the policy.",
)

Beta = Annotated[float, typer.Option(help="The share of rows that is sampled.", show_default=False)]


@command
def presence_bounds(
    prior: Annotated[float, typer.Option(help="The share of the population with the condition.", show_default=False)],
    gain: Annotated[float, typer.Option(help="By how much a belief may rise.", show_default=False)],
    drop: Annotated[float, typer.Option(help="By how much a belief may fall.", show_default=False)],
    population_size: Annotated[int, typer.Option(help="People in the population.", show_default=False)],
    research_size: Annotated[int, typer.Option(help="People in the table to release.", show_default=False)],
    as_json: Json = False,
) -> int:
    """Suggest the bounds of `delta_presence`: how sure of a person's presence a reader may become.

    For example:

    - `privacy-plugin suggest presence-bounds --prior 0.07 --gain 0.01 --drop 0.02 --population-size 10000
      --research-size 400`
    """
    from privacy_plugin.metrics.presence.delta_presence import presence_bounds as find_bounds

    low, high = find_bounds(
        prior=prior, gain=gain, drop=drop, population_size=population_size, research_size=research_size
    )
    reason = (
        f"Everybody in the table has the condition, and {prior:.4g} of the population. A person who is in the table "
        f"with a probability from {low:.4g} to {high:.4g} is believed to have it with {prior - drop:.4g} to "
        f"{prior + gain:.4g} (Nergiz and Clifton, section 6)."
    )
    return _show(
        as_json, reason, f"delta_presence: {{between: [{low!r}, {high!r}]}}", {"minimum": low, "maximum": high}
    )


@command
def smallest_k(
    beta: Beta,
    delta: Annotated[float, typer.Option(help="The largest delta; below 0.1 / rows is advised.", show_default=False)],
    choice_epsilon: Annotated[float, typer.Option(help="The epsilon of epsilon_safe_lattice.")] = 0.0,
    as_json: Json = False,
) -> int:
    """Suggest the k of `epsilon_safe_lattice` that keeps its delta.

    For example:

    - `privacy-plugin suggest smallest-k --beta 0.7 --delta 3.3e-6 --choice-epsilon 0.5`
    """
    from privacy_plugin.anonymizers.epsilon_safe.sampling import sampling_delta
    from privacy_plugin.anonymizers.epsilon_safe.sampling import smallest_k as find_k

    k = find_k(beta=beta, delta=delta, choice_epsilon=choice_epsilon)
    reached = sampling_delta(k=k, beta=beta, choice_epsilon=choice_epsilon)
    reason = (
        f"With a sample of {beta:.4g} of the rows and classes of at least {k} people, delta is {reached:.3g}, at most "
        f"{delta:.3g}; a smaller k exceeds it (docs/evaluation-epsilon-safe.md has the proof)."
    )
    line = f"anonymize: {{method: epsilon_safe_lattice, k: {k}, beta: {beta!r}, epsilon: ..., penalty: ...}}"
    return _show(as_json, reason, line, {"k": k, "delta": reached})


@command
def knowledge(
    policy: PolicyFile,
    below: Annotated[float, typer.Option(help="The disclosure that must not be reached.", show_default=False)],
    data: Data = None,
    url: Url = None,
    table: Table = None,
    most: Annotated[int, typer.Option(min=0, help="The largest number of facts to try.")] = 5,
    as_json: Json = False,
) -> int:
    """Suggest the knowledge of `maximum_disclosure`: how many facts a table withstands.

    Pass the table that is to be released, not the original. Exit code 1 if it withstands not even an attacker without
    facts.

    For example:

    - `privacy-plugin suggest knowledge released.csv --policy policy.yaml --below 0.6`
    """
    from privacy_plugin.cli.inputs import open_input
    from privacy_plugin.errors import PolicyError
    from privacy_plugin.policy.policy import Policy
    from privacy_plugin.requirements.requirement import require

    loaded = Policy.load(policy)
    rules = loaded.rules
    if not rules.columns("sensitive"):
        raise PolicyError("the policy has no column with the role sensitive")
    source = open_input(data, url, table, parts=rules.tables).source
    found: dict[int, float] = {}
    for facts in range(most + 1):
        values = []
        for sensitive in rules.columns("sensitive"):
            requirement = require("maximum_disclosure", knowledge=facts, below=below, sensitive=sensitive)
            finding = requirement.judge(source, quasi_identifiers=rules.columns("quasi_identifier"))
            if finding.value is None:
                raise PolicyError(finding.reason)
            values.append(float(finding.value))
        found[facts] = max(values)
        if found[facts] >= below:
            break
    held = [facts for facts, value in found.items() if value < below]
    shown = ", ".join(f"{value:.4g} with {facts}" for facts, value in found.items())
    reason = f"The highest probability with which an attacker names a sensitive value, by facts known: {shown}."
    line = f"maximum_disclosure: {{knowledge: {max(held)}, below: {below!r}}}" if held else None
    content = {"knowledge": max(held) if held else None, "disclosure": {str(n): value for n, value in found.items()}}
    return _show(as_json, reason, line, content)


@command
def good_nodes(
    policy: PolicyFile,
    beta: Beta,
    k: Annotated[int, typer.Option(min=2, help="The smallest class.", show_default=False)],
    data: Data = None,
    url: Url = None,
    table: Table = None,
    as_json: Json = False,
) -> int:
    """Suggest epsilon and penalty of `epsilon_safe_lattice`, by how likely it ends on a good generalization.

    The result is not private: use public or test data that resembles the secret table, never the secret table.

    For example:

    - `privacy-plugin suggest good-nodes public.csv --policy policy.yaml --k 75 --beta 0.7`
    """
    from privacy_plugin.anonymizers.epsilon_safe.good_node_probabilities import good_node_probabilities
    from privacy_plugin.cli.inputs import open_input
    from privacy_plugin.policy.policy import Policy

    loaded = Policy.load(policy)
    opened = open_input(data, url, table)
    found = good_node_probabilities(opened.source, hierarchies=loaded.hierarchies, k=k, beta=beta)
    reason = f"The best of the tried pairs: {found.best}. This looked at the rows without noise."
    return _show(as_json, reason, None, found.to_dict(), suggested=True)


def _show(
    as_json: bool, reason: str, line: str | None, content: Mapping[str, object], *, suggested: bool = False
) -> int:
    terminal = Terminal(as_json=as_json)
    terminal.print_line(reason)
    if line or not suggested:
        terminal.print_line(f"in the policy: {line}" if line else "the table withstands no attacker at this limit")
    terminal.print_json({**content, "reason": reason, "line": line})
    return 0 if line or suggested else 1


for name, function in (
    ("presence-bounds", presence_bounds),
    ("smallest-k", smallest_k),
    ("knowledge", knowledge),
    ("good-nodes", good_nodes),
):
    suggest.command(name)(function)
