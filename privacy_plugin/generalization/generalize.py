"""Full-domain generalization: the levels of least loss that meet every requirement."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from privacy_plugin.errors import InfeasibleError, ParameterError, PrivacyPluginError
from privacy_plugin.frequency.hierarchy import Hierarchy
from privacy_plugin.generalization.class_conditions import least_size
from privacy_plugin.generalization.lattice import Lattice, lattice_over
from privacy_plugin.generalization.losses import require_loss
from privacy_plugin.generalization.people_lattice import PeopleLattice
from privacy_plugin.generalization.plan import LatticeNode, Plan, TradeOff
from privacy_plugin.generalization.search import PICTURED, Found, least_loss, search_chain, why_top_fails
from privacy_plugin.generalization.search import search as search_best
from privacy_plugin.generalization.shaped_classes import (
    CHOICES,
    SEARCH_NOTE,
    ChooseBy,
    climb,
    deciding_requirements,
    ladder_note,
    looks_at_values,
    require_checked,
    require_choosable,
    require_ladder,
    shaped_note,
)
from privacy_plugin.generalization.suppression import require_share, rows_without
from privacy_plugin.generalization.unknown_values import Unknown, require_unknown
from privacy_plugin.requirements.requirement import Requirement, require
from privacy_plugin.sources import frequency_table

KS = (2, 3, 5, 10, 20, 50, 100)
MOST_MINIMAL = 10_000  # minimal nodes that a plan lists
_CHEAP_VISITS = 20_000_000  # distinct rows * nodes: below, the curve of loss against k comes with the plan

Progress = Callable[[str], None]
Search = Literal["best", "chain"]
Approximation = Literal["anti_monotone"]


def generalize(
    data: Any,
    *,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Requirement],
    max_suppression: float = 0.0,
    loss: str = "precision",
    sensitive: str | None = None,
    attributes: Sequence[str] | None = None,
    population: Any = None,
    unit: str | None = None,
    count: str | None = None,
    search: Search = "best",
    approximation: Approximation | None = None,
    choose_by: ChooseBy = "everything",
    k: Sequence[int] | None = None,
    unknown: Unknown = "refuse",
    progress: Progress | None = None,
    reveal: bool = False,
) -> Plan:
    """Find the levels of least loss at which the table, without the rows of failing classes, meets every requirement.

    The quasi-identifiers are the keys of `hierarchies`. `max_suppression`: the largest share of rows that may be
    suppressed; a suppressed row is lost completely. A class is suppressed when it fails in the whole table (maximum
    disclosure: in the table without the classes that fail alone); no other choice of classes is tried. `loss`:
    precision, entropy, loss_metric, discernibility or average_class_size (formulas: `generalization.losses`).
    `sensitive`, `attributes`, `population`: further columns and the table that requirements need. With a `unit`, people
    are counted instead of rows, and removed whole; where their rows differ in the columns that are looked at, `count`
    says what the class of a person is, see `measuring.people`. `progress` is called with a
    sentence during a long search. `unknown`: what to do with values that a hierarchy does not cover. `refuse` raises
    HierarchyError with the columns and numbers of rows (and the values with `reveal`); `suppress` leaves their rows
    out, counted as suppressed; `top` writes `*` for those values, and their column becomes text on every level.
    `choose_by="quasi_identifiers"`: levels and suppression follow from the quasi-identifiers and class sizes alone, all
    other requirements are only checked on what is released; so the plan tells nothing about sensitive values. `k`:
    class sizes to try in turn then, until the classes of one pass; what was refused before is stated.

    One compiled walk over the lattice counts the classes that fail a metric's class rule at every node. The nodes that
    remain are evaluated by all requirements, by rising loss, until the next bound on the loss is not below the best
    loss found: the optimum. Without suppression, and where all requirements are monotone, nodes are decided by pruning
    instead. Equal losses (to twelve decimals) are ordered by the sum of levels, then by the levels in the order of the
    hierarchies. `plan.search` states how the plan was found; `plan.exact` is False where a better one may exist, which
    happens only in lattices of millions of nodes and by `approximation`.

    `approximation="anti_monotone"` lets the search leave out every node below one that fails, also for requirements for
    which that is not proven, such as `presence_confidence` (practical anti-monotonicity; Nergiz and Clifton, section
    5.1). Without suppression only. The plan meets the requirements exactly as without; that no better one exists is
    then not proven, and `plan.exact` is False.

    `search="chain"` finds one allowed generalization quickly: columns rise evenly from the most specific node to the
    most general one, and a binary search returns the first allowed one. It raises ParameterError where a node above an
    allowed one might fail: for requirements that are not monotone, and for suppression with requirements on more than
    class sizes.

    >>> import pandas as pd, privacy_plugin as pp
    >>> visits = pd.DataFrame({"zip": ["8001", "8002", "8003", "3001"]})
    >>> plan = pp.generalize(visits, hierarchies={"zip": pp.mask_hierarchy(length=4)}, max_suppression=0.25,
    ...                      requirements=[pp.require("k_anonymity", at_least=3)])
    >>> plan.levels, plan.suppressed
    ({'zip': 1}, 1)
    """
    require_parameters(hierarchies, requirements, max_suppression, loss)
    if search not in get_args(Search):
        raise ParameterError(f"search must be one of {', '.join(get_args(Search))}, not {search!r}")
    require_approximation(approximation, search, max_suppression)
    if choose_by not in CHOICES:
        raise ParameterError(f"choose_by must be one of {', '.join(CHOICES)}, not {choose_by!r}")
    if choose_by == "quasi_identifiers":
        require_choosable(requirements, hierarchies)
    require_ladder(k, requirements, choose_by)
    require_unknown(unknown)
    if reveal and unknown == "refuse":
        require_covered(data, hierarchies)
    lattice = lattice_over(
        data,
        hierarchies=hierarchies,
        requirements=requirements,
        max_suppression=max_suppression,
        loss=loss,
        sensitive=sensitive,
        attributes=attributes,
        population=population,
        unit=unit,
        count=count,
        unknown=unknown,
    )

    def attempt(asked: tuple[Requirement, ...]) -> Plan:
        sized = replace(lattice, requirements=asked)
        deciding = replace(
            sized,
            requirements=deciding_requirements(asked, choose_by),
            taken_as_monotone=approximation is not None,
        )
        found = search_best(deciding, progress) if search == "best" else search_chain(deciding, progress)
        if found is None and approximation is not None and not deciding.monotone:
            raise InfeasibleError(
                f"the most general table fails: {why_top_fails(deciding)}. With approximation={approximation!r} all "
                "others are taken to fail too; leave it out to evaluate them"
            )
        if found is None:
            raise infeasible(deciding, unit)
        if choose_by == "quasi_identifiers" and isinstance(sized, PeopleLattice):
            assert isinstance(deciding, PeopleLattice)
            sized.require_checked(found.best.node, deciding.suppressed_people(found.best.node))
        elif choose_by == "quasi_identifiers":
            generalized, failing = deciding.failing_classes(found.best.node)
            released = rows_without(generalized, failing, lattice.columns)
            require_checked(asked, released, lattice.roles, lattice.hierarchies)
        trade_off = _cheap_trade_off(deciding) if search == "best" else ()
        plan = _plan(
            sized,
            found,
            unit=unit,
            count=count,
            trade_off=trade_off,
            max_suppression=max_suppression,
            unknown=unknown,
        )
        looked = choose_by == "everything" and looks_at_values(requirements)
        return replace(plan, choose_by=choose_by, notes=_shaped_notes(deciding, found, progress) if looked else ())

    plan, refused = climb(lattice.requirements, k, attempt)
    if not refused:
        return plan
    size = max(least_size(one) or 1 for one in plan.requirements)
    return replace(plan, refused_sizes=refused, notes=(*plan.notes, ladder_note(refused, size)))


def _shaped_notes(lattice: Lattice, found: Found, progress: Progress | None) -> tuple[str, ...]:
    """Count the classes that follow from sensitive values: all if the levels do, else those suppressed for them."""
    if isinstance(lattice, PeopleLattice):
        return (SEARCH_NOTE,)
    sizes = deciding_requirements(lattice.requirements, "quasi_identifiers")
    generalized, failing = lattice.failing_classes(found.best.node)
    classes = len(generalized.classes(lattice.columns))
    if not sizes:
        blind = replace(lattice, requirements=(require("k_anonymity", at_least=1),))
    else:
        blind = replace(lattice, requirements=sizes)
    other = search_best(blind, progress)
    if other is None or other.best.node != found.best.node:
        return (shaped_note(classes, classes),)
    _, small = blind.failing_classes(other.best.node)
    return (shaped_note(len(failing) - len(small), classes),)


def require_covered(data: Any, hierarchies: Mapping[str, Hierarchy]) -> None:
    """Raise an error that names the values which a hierarchy does not cover."""
    for name, hierarchy in hierarchies.items():
        hierarchy.levels(frequency_table(data, [name]).dictionary(name), column=name, reveal=True)


def loss_against_k(
    data: Any,
    *,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Requirement] = (),
    ks: Sequence[int] = KS,
    max_suppression: float = 0.0,
    loss: str = "precision",
    **others: Any,
) -> tuple[TradeOff, ...]:
    """Return the least loss for every k, with all other requirements as they are; cost: one walk for each k.

    Put it into the report with `dataclasses.replace(plan, trade_off=...)`.

    >>> import pandas as pd, privacy_plugin as pp
    >>> visits = pd.DataFrame({"zip": ["8001", "8002", "8003", "3001"]})
    >>> zips = {"zip": pp.mask_hierarchy(length=4)}
    >>> [(point.k, point.loss) for point in loss_against_k(visits, hierarchies=zips, ks=[1, 4, 5])]
    [(1, 0.0), (4, 1.0), (5, None)]
    """
    first = require("k_anonymity", at_least=1)
    require_parameters(hierarchies, [first, *requirements], max_suppression, loss)
    lattice = lattice_over(
        data,
        hierarchies=hierarchies,
        requirements=[first, *requirements],
        max_suppression=max_suppression,
        loss=loss,
        **others,
    )
    return trade_off_over(lattice, ks)


def infeasible(lattice: Lattice, unit: str | None) -> PrivacyPluginError:
    """Return the error that names the requirement which even the most general table fails."""
    if lattice.conditions.k > lattice.table.rows:
        counted = "rows" if unit is None else "people"
        largest = max(lattice.requirements, key=lambda requirement: least_size(requirement) or 0)
        return InfeasibleError(
            f"no generalization meets the requirements, not even the most general one: {largest} needs "
            f"{lattice.conditions.k:,} {counted}, and the table has {lattice.table.rows:,}. Relax that limit, or "
            "release more"
        )
    open_ended = [name for name in lattice.columns if not _ends_in_one(lattice, name)]
    extend = f"extend the hierarchy of {', '.join(open_ended)} to '*', " if open_ended else ""
    return InfeasibleError(
        f"no generalization meets the requirements, not even the most general one, where {why_top_fails(lattice)}. "
        f"Allow more suppression, {extend}or relax a limit"
    )


def _ends_in_one(lattice: Lattice, name: str) -> bool:
    """Return whether all values of a column become one at the top of its hierarchy; missing ones stay missing there."""
    levels = lattice.hierarchies[name].levels(lattice.table.dictionary(name), column=name)
    return len({value for value in levels.dictionaries[-1] if value is not None}) <= 1


def _plan(
    lattice: Lattice,
    found: Found,
    *,
    unit: str | None,
    count: str | None,
    trade_off: tuple[TradeOff, ...],
    max_suppression: float,
    unknown: Unknown,
) -> Plan:
    rows = lattice.unknown
    assert rows is not None
    return Plan(
        levels=_named(lattice, found.best.node),
        hierarchies=lattice.hierarchies,
        requirements=lattice.requirements,
        loss=lattice.loss_of_all(found.best.loss, found.best.suppressed),
        loss_name=lattice.loss_name,
        suppressed=found.best.suppressed + rows.removed,
        rows=rows.total,
        max_suppression=max_suppression,
        unknown=unknown,
        unknown_rows=rows.by_column,
        minimal_nodes=tuple(_named(lattice, node) for node in found.minimal[:MOST_MINIMAL]),
        nodes_visited=found.visited,
        sensitive=lattice.sensitive,
        attributes=lattice.attributes,
        unit=unit,
        count=count,
        exact=found.exact,
        search=found.search + _more_minimal(found),
        lattice=tuple(
            LatticeNode(levels=node, loss=lattice.loss_of_all(loss), feasible=feasible)
            for node, loss, feasible in found.picture
        ),
        trade_off=trade_off,
    )


def _more_minimal(found: Found) -> str:
    more = len(found.minimal) - MOST_MINIMAL
    return f"; of {len(found.minimal):,} minimal ones the first {MOST_MINIMAL:,} are listed" if more > 0 else ""


def _cheap_trade_off(lattice: Lattice) -> tuple[TradeOff, ...]:
    """Compute the curve where it costs next to nothing: a small lattice that one walk decides."""
    cheap = lattice.nodes <= PICTURED and lattice.nodes * lattice.table.distinct <= _CHEAP_VISITS
    if not cheap or lattice.conditions.k < 2 or not lattice.conditions.decisive:
        return ()
    return trade_off_over(lattice, sorted({*KS, lattice.conditions.k}))


def trade_off_over(lattice: Lattice, ks: Sequence[int]) -> tuple[TradeOff, ...]:
    """Return the least loss for every k; requirements on class sizes make way for k, all others stay."""
    others = tuple(requirement for requirement in lattice.requirements if least_size(requirement) is None)
    asked = [replace(lattice, requirements=(require("k_anonymity", at_least=k), *others)) for k in ks]
    losses = [least_loss(one) for one in asked]
    return tuple(
        TradeOff(k=k, loss=None if loss is None else lattice.loss_of_all(loss))
        for k, loss in zip(ks, losses, strict=True)
    )


def _named(lattice: Lattice, node: tuple[int, ...]) -> dict[str, int]:
    return dict(zip(lattice.columns, node, strict=True))


def require_approximation(approximation: str | None, search: str, max_suppression: float) -> None:
    """Raise unless the approximation is known and goes with the other options."""
    if approximation is not None and (
        approximation not in get_args(Approximation) or max_suppression or search != "best"
    ):
        raise ParameterError(
            f"approximation must be left out or {', '.join(get_args(Approximation))}, with search='best' and "
            f"max_suppression=0, not {approximation!r}"
        )


def require_parameters(
    hierarchies: Mapping[str, Hierarchy], requirements: Sequence[Requirement], max_suppression: float, loss: str
) -> None:
    """Raise for arguments that are wrong whatever the data is."""
    if not hierarchies:
        raise ParameterError("hierarchies is empty; give one for every quasi-identifier")
    if not requirements:
        raise ParameterError("requirements is empty; give at least one, such as require('k_anonymity', at_least=5)")
    for requirement in requirements:
        if requirement.definition.needs_ledger:
            raise ParameterError(
                f"{requirement.metric} judges randomized releases; no generalization meets it. Use "
                "epsilon_safe_lattice or synthesize (in a policy: anonymize: {method: ...})"
            )
        if requirement.definition.needs_history:
            raise ParameterError(f"{requirement.metric} is about all releases and cannot guide a search; leave it out")
        if requirement.definition.kind != "privacy":
            raise ParameterError(
                f"{requirement.metric} judges a finished table and cannot guide a generalization; leave it to the gate"
            )
    require_share(max_suppression)
    require_loss(loss)
