"""What a generalization does to the table: levels, loss, suppressed rows; or regions, and what they reached."""

from privacy_plugin.anonymizers.multidimensional_presence import PresenceGeneralization
from privacy_plugin.frequency.level_words import level_words
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.lattice import lattice_figures, loss_words, search_words
from privacy_plugin.report.markup import Child, Markup, definitions, element, section, table


def change(content: ReportContent) -> Markup:
    """Show what was generalized, and what it costs."""
    if content.plan is None:
        return Markup("")
    return _levels(content.plan) if isinstance(content.plan, Plan) else _regions(content.plan)


def _regions(found: PresenceGeneralization) -> Markup:
    low, high = found.regions.delta
    pairs: list[tuple[str, Child]] = [
        ("Regions", f"{found.classes:,}, each with levels of its own"),
        ("Loss metric", f"{found.loss_metric:.4g} on a scale from 0 (nothing lost) to 1 (nothing left)"),
        (
            "Presence",
            f"{float(found.minimum):.4g} to {float(found.maximum):.4g} over the people of the population "
            f"({float(low):g} to {float(high):g} asked for)",
        ),
    ]
    return section("What was changed", definitions(pairs), identifier="change")


def _levels(plan: Plan) -> Markup:
    pairs: list[tuple[str, Child]] = [
        (f"Loss ({plan.loss_name})", loss_words(plan)),
        (
            "Suppressed",
            f"{plan.suppressed:,} of {plan.rows:,} {'people' if plan.unit else 'rows'} ({plan.suppressed_share:.2%}; "
            f"at most {plan.max_suppression:.1%} allowed)",
        ),
        ("Searched", search_words(plan)),
    ]
    rows: list[list[Child]] = [
        [element("code", name), _bar(level, plan.hierarchies[name].height), level_words(plan.hierarchies[name], level)]
        for name, level in plan.levels.items()
    ]
    return section(
        "What was changed",
        definitions(pairs),
        table("Level of every quasi-identifier", ["column", "level", "its values became"], rows),
        element("div", lattice_figures(plan), class_="columns") if plan.lattice or plan.trade_off else None,
        identifier="change",
    )


def _bar(level: int, height: int) -> list[Child]:
    steps = [element("i", class_="on" if step <= level else None) for step in range(1, height + 1)]
    return [element("span", steps, class_="levels", aria_hidden="true"), f" {level} of {height}"]
