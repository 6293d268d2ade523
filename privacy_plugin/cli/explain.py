"""`explain`: what a metric, a method or a hierarchy means, and which options it has."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer

from privacy_plugin.cli.options import Json
from privacy_plugin.cli.terminal import Terminal, command

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[METRIC|METHOD|HIERARCHY]", help="What to explain; default: everything.", show_default=False
    ),
]


@command
def explain(name: Name = None, as_json: Json = False) -> int:
    """Explain a metric, a method of `anonymize` or a hierarchy, with its options, as a policy names it.

    For example:

    - `privacy-plugin explain maximum_disclosure`
    - `privacy-plugin explain generalize_locally`
    - `privacy-plugin explain intervals`
    """
    from privacy_plugin.errors import ParameterError, unknown_name

    terminal = Terminal(as_json=as_json)
    found = explanations()
    if name is not None and name not in found:
        raise ParameterError(unknown_name("metric, method or hierarchy", name, found))
    text = reference() if name is None else found[name]
    if not as_json:
        typer.echo(text, nl=False)
    terminal.print_json({"name": name, "text": text})
    return 0


def reference() -> str:
    """Return the reference of everything that a policy can name, as Markdown."""
    found = explanations()
    kinds = {
        "Metrics": list(_metrics()),
        "Methods of `anonymize`": list(_methods()),
        "Hierarchies": list(_hierarchies()),
    }
    parts = [
        "# Reference\n",
        "Everything that a policy can name. `privacy-plugin explain NAME` prints one entry.\n",
    ]
    for title, names in kinds.items():
        parts += [f"## {title}\n", *(found[name].replace("# ", "### ", 1) for name in names)]
    return "\n".join(parts)


def explanations() -> dict[str, str]:
    """Return the explanation of every metric, method and hierarchy."""
    return {**_metrics(), **_methods(), **_hierarchies()}


def _metrics() -> dict[str, str]:
    from privacy_plugin.metrics.registry import SECOND_TABLES, metrics

    found = {}
    for name, metric in sorted(metrics().items()):
        limit = {"higher": "`at_least` or `above`", "lower": "`at_most` or `below`"}.get(metric.safer, "`between`")
        second = [f"Compares with {SECOND_TABLES[metric.second_table]}."] if metric.second_table else []
        facts = [
            f"{metric.title}. Limit: {limit}.",
            *second,
            *([f"A pass means: {metric.shows}"] if metric.shows else []),
            *([f"It does not mean: {metric.hides}"] if metric.hides else []),
            f"Source: {metric.paper}",
        ]
        found[name] = _entry(name, facts, metric.options)
    return found


def _methods() -> dict[str, str]:
    from privacy_plugin.anonymizers.registry import ANONYMIZERS

    found = {}
    for name, method in ANONYMIZERS.items():
        spends = (
            "It draws at random and spends from the budget ledger." if method.spends_budget else "It spends no budget."
        )
        given = dict(inspect.signature(method.function).parameters)
        options = {option: value for option, value in given.items() if option not in method.supplied}
        found[name] = _entry(name, [_first_line(method.function), spends], options)
    return found


def _hierarchies() -> dict[str, str]:
    from privacy_plugin.frequency import hierarchy_builders as builders

    functions: dict[str, Callable[..., Any]] = {
        "intervals": builders.interval_hierarchy,
        "mask": builders.mask_hierarchy,
        "dates": builders.date_hierarchy,
        "tree": builders.tree_hierarchy,
        "flat": builders.flat_hierarchy,
    }
    return {name: _entry(name, [_first_line(f)], inspect.signature(f).parameters) for name, f in functions.items()}


def _entry(name: str, facts: list[str], options: Mapping[str, inspect.Parameter]) -> str:
    return "\n".join([f"# {name}\n", *(f"{fact}\n" for fact in facts), *_option_lines(options)])


def _option_lines(options: Mapping[str, inspect.Parameter]) -> Iterator[str]:
    for name, option in options.items():
        required = option.default is inspect.Parameter.empty
        yield f"- `{name}`: {'required' if required else f'default `{_shown(option.default)}`'}"
    if options:
        yield ""


def _shown(value: Any) -> str:
    return {None: "none", True: "true", False: "false"}.get(value, str(value)) if value.__hash__ else str(value)


def _first_line(function: Any) -> str:
    return (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")
