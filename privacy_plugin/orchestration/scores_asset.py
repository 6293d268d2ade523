"""An asset with every person's privacy score and what gives them away: a private table, never a release."""

from pathlib import Path
from typing import Any, Unpack

import dagster as dg
import numpy as np

from privacy_plugin.errors import ParameterError, PolicyError
from privacy_plugin.frequency.table import FrequencyTable
from privacy_plugin.metrics.privacy_score.result import PrivacyScore
from privacy_plugin.orchestration.asset_builder import AssetRun, MadeAsset, build_asset
from privacy_plugin.orchestration.standard_arguments import AssetArguments
from privacy_plugin.orchestration.upstream import Asset
from privacy_plugin.policy.policy import Policy

ADDED_COLUMNS = ("people", "privacy_score", "known", "learned")
_WITNESSES = 1_000


def build_scores_asset(
    *,
    name: Asset,
    asset: Asset,
    policy: Policy | str | Path,
    table: str | None = None,
    target: str | None = None,
    witnesses: int = _WITNESSES,
    partitions_def: dg.PartitionsDefinition[Any] | None = None,
    partition_column: str | None = None,
    warehouse: str = "warehouse",
    **standard: Unpack[AssetArguments],
) -> dg.AssetsDefinition:
    """Build a private table of the privacy scores of its upstream, by the requirement `privacy_score` of the policy.

    One row for each distinct row of the attributes: their values, `people`, `privacy_score` (where the budget ended,
    the upper end), and for the `witnesses` highest scores the columns that an attacker who reaches the score has
    `known` and then `learned`. The table is as private as the source: write it where only those may read who may read
    the source, and never make it the upstream of a release. Metadata has counts only: no score and no value.
    """
    loaded = policy if isinstance(policy, Policy) else Policy.load(policy)
    scores = [requirement for requirement in loaded.requirements if requirement.metric == "privacy_score"]
    if len(scores) != 1:
        raise PolicyError(f"the policy needs one requirement privacy_score to score people by, not {len(scores)}")
    if isinstance(witnesses, bool) or not isinstance(witnesses, int) or witnesses < 0:
        raise ParameterError("witnesses must be a whole number of at least 0")
    attributes = (*loaded.rules.columns("quasi_identifier"), *loaded.rules.columns("sensitive"))
    taken = [column for column in ADDED_COLUMNS if column in attributes]
    if taken:
        raise PolicyError(f"the table of scores adds a column {taken[0]!r}, and the policy has one already; rename it")

    def make(run: AssetRun) -> MadeAsset:
        finding = scores[0].judge(run.source, attributes=attributes)
        if not isinstance(finding.measurement, PrivacyScore):
            raise ParameterError(finding.reason)
        rows = score_rows(finding.measurement, witnesses=witnesses)
        made = run.source.write_rows(rows, target=run.target, verify=lambda _: None)
        found = {"scored people": finding.measurement.rows, "rows": rows.rows}
        return made, {**found, "notes": "private: one row for each distinct person, never to be released"}

    return build_asset(
        make,
        activity="scoring people",
        description=f"Private: the privacy score of everybody in {loaded.dataset}, and what gives them away.",
        name=name,
        asset=asset,
        table=table,
        target=target,
        partitions_def=partitions_def,
        partition_column=partition_column,
        warehouse=warehouse,
        standard=standard,
    )


def score_rows(found: PrivacyScore, *, witnesses: int = _WITNESSES) -> FrequencyTable:
    """Return one row for each distinct row that was scored: its values, people, score, and what reaches it.

    >>> from privacy_plugin import privacy_score
    >>> roles = {"zip": "quasi_identifier", "disease": "sensitive"}
    >>> people = FrequencyTable.from_rows(list(roles), [(8001, "flu"), (8001, "flu"), (8002, "flu"), (8002, "gout")])
    >>> table = score_rows(privacy_score(people, attributes=list(roles), roles=roles))
    >>> [table.values(row) for row in range(table.distinct)][0]
    (8001, 'flu', 2, 0.5, 'zip', 'disease')
    """
    order = np.lexsort((-found.counts, -found.individuals))[:witnesses].tolist()
    explained = [row for row in order if found.individuals[row] > 0]
    reached = {one.person: one for one in found.witnesses(explained)} if explained else {}
    rows = []
    for row in range(found.table.distinct):
        witness = reached.get(row)
        known = None if witness is None else ", ".join(witness.known)
        learned = None if witness is None else ", ".join(witness.inferred)
        score = float(found.individuals[row])
        rows.append((*found.table.values(row), int(found.counts[row]), score, known, learned))
    return FrequencyTable.from_rows([*found.table.columns, *ADDED_COLUMNS], rows)
