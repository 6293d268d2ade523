"""A new metric needs one file in three rooms; this test names the ones that are missing."""

import doctest
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import privacy_plugin
from privacy_plugin.anonymizers.base import Anonymizer, RandomizedMethod, RecodingMethod
from privacy_plugin.anonymizers.registry import ANONYMIZERS
from privacy_plugin.errors import PrivacyPluginError
from privacy_plugin.metrics.registry import Metric, metrics
from privacy_plugin.requirements.limits import _FITTING
from tests.anonymizer_results import result_of
from tests.method_cases import METHOD_CASES

pytestmark = pytest.mark.great_expectations

ROOT = Path(__file__).parent.parent

# The endings of a class name by the direction of its metric; a strict upper limit may be named LessThan.
ENDINGS = {"higher": ("AtLeast",), "lower": ("AtMost", "LessThan"), "between": ("Between",)}

ALL = list(metrics().values())


def expectations_of(metric: Metric) -> list[Any]:
    """The exported expectation classes of a metric."""
    package = import_module("privacy_plugin.expectations")
    exported = [getattr(package, name) for name in package.__all__]
    return [value for value in exported if getattr(value, "metric", None) == metric.name]


def has_example_that_runs(function: Any) -> bool:
    """Return whether the docstring of a function has an example that gives the result it shows."""
    names = dict(vars(import_module(function.__module__)))
    (found,) = doctest.DocTestFinder(recurse=False, exclude_empty=False).find(function, globs=names)
    outcome = doctest.DocTestRunner(verbose=False).run(found, out=lambda _: None)
    return outcome.attempted > 0 and outcome.failed == 0


def missing_around(metric: Metric) -> Iterator[str]:
    """Yield what a metric lacks outside of Great Expectations."""
    if metric.name not in privacy_plugin.__all__ or not callable(getattr(privacy_plugin, metric.name, None)):
        yield f"the public name privacy_plugin.{metric.name} (in _METRICS of privacy_plugin/__init__.py)"
    if not (ROOT / "tests" / "metrics" / f"test_{metric.name}.py").is_file():
        yield f"tests/metrics/test_{metric.name}.py"
    if f"`{metric.name}`" not in (ROOT / "docs" / "which-metric.md").read_text(encoding="utf-8"):
        yield "its name in docs/which-metric.md"
    if not has_example_that_runs(metric.measure):
        yield f"an example that runs in the docstring of {metric.name}"
    if metric.name not in metric.measure.__module__.split("."):
        yield f"a file or a folder of its own, privacy_plugin/metrics/{metric.name}"


def wanted_fields(metric: Metric) -> dict[str, Any]:
    """The fields of a metric's expectation, each with its default; `...` where there is none."""
    fields: dict[str, Any] = dict.fromkeys(metric.roles, ...)
    for name, option in metric.options.items():
        fields[name] = ... if option.default is inspect.Parameter.empty else option.default
    if metric.counts_people:
        fields["unit"] = None
        fields["count"] = None
    if metric.needs_population:
        fields["population"] = ...
    return fields | dict.fromkeys(_FITTING[metric.safer])


def missing_in_great_expectations(metric: Metric) -> Iterator[str]:
    """Yield what a metric's expectation lacks."""
    classes = expectations_of(metric)
    if len(classes) != 1:
        yield f"one class in privacy_plugin.expectations with metric = {metric.name!r} (there are {len(classes)})"
        return
    (expectation,) = classes
    title = "".join(part.title() for part in metric.name.split("_"))
    names = [f"ExpectTable{title}ToBe{ending}" for ending in ENDINGS[metric.safer]]
    if expectation.__name__ not in names:
        yield f"a class named {' or '.join(names)}, not {expectation.__name__}"
    if f'"{expectation.__name__}"' not in (ROOT / "expectations" / "__init__.py").read_text(encoding="utf-8"):
        yield f"{expectation.__name__} in the top-level expectations/__init__.py"
    if ">>>" not in (expectation.__doc__ or ""):
        yield f"an example that runs in the docstring of {expectation.__name__}"
    present = {
        name: ... if field.required else field.default
        for name, field in expectation.__fields__.items()
        if name in expectation.success_keys
    }
    if present != wanted_fields(metric):
        yield f"in {expectation.__name__} the fields {wanted_fields(metric)}, not {present}"


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_a_metric_is_complete(metric: Metric) -> None:
    missing = [*missing_around(metric), *missing_in_great_expectations(metric)]
    assert not missing, f"{metric.name} lacks: " + "; ".join(missing)


def test_there_is_no_expectation_without_a_metric() -> None:
    package = import_module("privacy_plugin.expectations")
    stated = [getattr(package, name) for name in package.__all__]
    judged = sorted(kind.metric for kind in stated if hasattr(kind, "metric"))
    assert judged == sorted(metric.name for metric in ALL)


def test_every_missing_part_is_named() -> None:
    texts = dict.fromkeys(("title", "attacker", "remedy", "paper", "axis", "shows", "hides"), "")
    unheard_of = Metric(name="unheard_of", safer="lower", measure=lambda table: None, **texts)
    missing = "; ".join([*missing_around(unheard_of), *missing_in_great_expectations(unheard_of)])
    for part in (
        "privacy_plugin.unheard_of",
        "tests/metrics/test_unheard_of.py",
        "docs/which-metric.md",
        "example",
        "one class in privacy_plugin.expectations",
    ):
        assert part in missing


def wanted_of_result(anonymizer: type[Anonymizer]) -> list[str]:
    """Return the names of the result protocol that apply to this kind of anonymizer."""
    names = ["summary", "to_dict", "describe"]
    if anonymizer.spends_budget:
        names += ["frequencies", "account"]
    elif issubclass(anonymizer, RecodingMethod):
        names += ["apply"]
    return [*names, "quasi_identifiers", "save"] if anonymizer.plan_type is not None else names


# A sound value of every option that some anonymizer requires.
SOUND = {"k": 5, "beta": 0.5, "epsilon": 1, "penalty": 1, "domains": "occurring", "number": 1, "support": 0.5}
SOUND |= {"itemsets": [{"sex": "f"}], "from": "synthesize", "knowledge": 1, "below": 0.5}


def refuses_nonsense(anonymizer: type[Anonymizer], option: str) -> bool:
    """Return whether loading a policy refuses a value of this option that cannot mean anything."""
    required = [n for n, o in anonymizer.policy_options().items() if o.default is inspect.Parameter.empty]
    given = {name: SOUND[name] for name in (*required, *anonymizer.required_options)}
    anonymizer.read_options(given, ["sex"])  # without the nonsense it is accepted
    try:
        anonymizer.read_options({**given, option: object()}, ["sex"])
    except PrivacyPluginError:
        return True
    return False


def missing_of_anonymizer(anonymizer: type[Anonymizer]) -> Iterator[str]:
    """Name every part that an anonymizer lacks."""
    name = anonymizer.name
    public = getattr(privacy_plugin, name, None)
    if name not in privacy_plugin.__all__ or public is not anonymizer.function:
        yield f"the public function privacy_plugin.{name}"
    if name not in anonymizer.__module__.split("."):
        yield f"a file of its own, privacy_plugin/anonymizers/{name}.py"
    for attribute in ("makes", "doing", "done"):
        if not getattr(anonymizer, attribute, ""):
            yield f"the class attribute {attribute}"
    yield from (
        f"a check of the option {o}" for o in anonymizer.policy_options() if not refuses_nonsense(anonymizer, o)
    )
    made = result_of(anonymizer)
    fields = getattr(made, "__dataclass_fields__", {})
    lacking = [part for part in wanted_of_result(anonymizer) if not hasattr(made, part) and part not in fields]
    yield from (f"{part} of its result {made.__name__}" for part in lacking)
    if anonymizer.plan_type is not None and anonymizer.plan_type is not made:
        yield f"plan_type = {made.__name__}, the class that its search returns"
    rooms = [ROOT / "tests" / room / f"test_{name}.py" for room in ("anonymizers", "generalization")]
    if not any(path.is_file() for path in rooms):
        yield f"tests/anonymizers/test_{name}.py"
    lines = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8").splitlines()
    entry = next((line for line in lines if line.startswith(f"| `{name}` |")), None)
    if entry is None:
        yield f"a line in the table of methods of docs/policy.md: | `{name}` | ... |"
    else:
        options = entry.rsplit("|", 2)[-2]
        yield from (f"`{o}` in docs/policy.md" for o in anonymizer.policy_options() if f"`{o}`" not in options)


# Public functions that change a table, but are not methods of a policy, with the reason.
NO_POLICY: dict[str, str] = {}


def public_anonymizers() -> Iterator[str]:
    """Yield the public functions that live where anonymizers live and return a result that a method could show."""
    for name in privacy_plugin.__all__:
        public = getattr(privacy_plugin, name)
        module = getattr(public, "__module__", "")
        rooms = ("privacy_plugin.anonymizers.", "privacy_plugin.generalization.generalize")
        if callable(public) and not isinstance(public, type) and module.startswith(rooms):
            made = public.__annotations__.get("return")
            if isinstance(made, type) and made.__module__.startswith(("privacy_plugin.anon", "privacy_plugin.gener")):
                yield name


def test_every_public_anonymizer_is_a_method_of_a_policy() -> None:
    """A method has every other door: build_anonymized_asset, the command line and the report take any method."""
    audits = {"audit_mechanism", "good_node_probabilities"}  # they measure, and make no table
    found = set(public_anonymizers()) - audits
    assert {"generalize", "bucketize", "synthesize", "private_itemsets"} <= found
    assert found - set(ANONYMIZERS) == set(NO_POLICY)


def doors_without(name: str) -> Iterator[str]:
    """Name the doors that do not lead to a method: the texts that a user looks it up in."""
    texts = {
        "docs/policy.md": ROOT / "docs" / "policy.md",
        "docs/randomized-releases.md": ROOT / "docs" / "randomized-releases.md",
        "privacy-plugin anonymize --help": ROOT / "privacy_plugin" / "cli" / "anonymize.py",
    }
    yield from (door for door, path in texts.items() if f"`{name}`" not in path.read_text(encoding="utf-8"))
    case = METHOD_CASES.get(name)
    if case is None or case.policy["anonymize"]["method"] != name:
        yield "a case in tests/method_cases.py: asset, checks, release, suite, command line and report run it"


@pytest.mark.parametrize("name", ANONYMIZERS)
def test_every_door_leads_to_a_method(name: str) -> None:
    assert list(doors_without(name)) == []


def test_a_missing_door_is_named() -> None:
    assert len(list(doors_without("no_such_method"))) == 4


@pytest.mark.parametrize("anonymizer", ANONYMIZERS.values(), ids=lambda anonymizer: anonymizer.name)
def test_an_anonymizer_is_complete(anonymizer: type[Anonymizer]) -> None:
    missing = list(missing_of_anonymizer(anonymizer))
    assert not missing, f"{anonymizer.name} lacks: " + "; ".join(missing)


class _Bare:
    """A result without any part of the protocol."""


def _unheard_of(data: Any, *, columns: Any, tries: list[int] = []) -> _Bare:  # noqa: B006
    return _Bare()


class _Incomplete(RandomizedMethod):
    name = "unheard_of"
    function = _unheard_of
    done = ""

    @classmethod
    def read_options(cls, given: Any, columns: Any) -> dict[str, Any]:
        return dict(given)

    def prepare(self, table: Any, generator: Any) -> Callable[[], _Bare]:  # type: ignore[override]
        return _Bare


def test_every_missing_part_of_an_anonymizer_is_named() -> None:
    missing = "; ".join(missing_of_anonymizer(_Incomplete))
    for part in (
        "privacy_plugin.unheard_of",
        "anonymizers/unheard_of.py",
        "the class attribute done",
        "a check of the option tries",
        "describe of its result",
        "account of its result",
        "tests/anonymizers/test_unheard_of.py",
        "docs/policy.md",
    ):
        assert part in missing
