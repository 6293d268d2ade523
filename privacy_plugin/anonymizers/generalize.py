"""Full-domain generalization as an anonymizer: one level for each quasi-identifier, found by `generalize`."""

import inspect
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from privacy_plugin.anonymizers.base import Anonymized, Progress, RecodingMethod, Request
from privacy_plugin.anonymizers.continued_release import RELEASES, release_together, require_choices, require_continuing
from privacy_plugin.anonymizers.worst_people import NOTE, suppress_worst
from privacy_plugin.errors import ParameterError, PolicyError
from privacy_plugin.generalization.generalize import generalize, require_approximation
from privacy_plugin.generalization.local_plan import LocalPlan
from privacy_plugin.generalization.plan import Plan
from privacy_plugin.generalization.shaped_classes import (
    OBSERVED_NOTE,
    SEARCH_NOTE,
    looks_at_values,
    require_choosable,
    require_ladder,
)
from privacy_plugin.requirements.requirement import Requirement
from privacy_plugin.sources import Source, open_source

_SUPPRESS = inspect.Parameter(
    "suppress", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Mapping[str, str] | None
)
_NOT_OF_THE_SEARCH = ("releases", "suppress")


class GeneralizingMethod(RecodingMethod):
    """A method whose search finds a plan by the hierarchies and requirements of the policy."""

    treats_columns = True

    @classmethod
    def policy_options(cls) -> dict[str, inspect.Parameter]:
        """Return the options of the search, whether a release continues the earlier ones, and who is removed after."""
        return {**super().policy_options(), "releases": RELEASES, "suppress": _SUPPRESS}

    @property
    def removes_worst(self) -> bool:
        """Whether the people with the highest privacy scores are removed after the search."""
        return self.options.get("suppress") is not None

    @property
    def aims(self) -> tuple[Requirement, ...]:
        """The requirements that the search aims at; the privacy score is left to the removal, if there is one."""
        aims = super().aims
        return tuple(one for one in aims if one.metric != "privacy_score") if self.removes_worst else aims

    def require_policy(self) -> None:
        """Refuse what cannot be followed, removed, or chosen by class sizes alone."""
        super().require_policy()
        if self.removes_worst:
            self._require_removable()
        if self.continues:
            require_continuing(self.rules)
            require_choices(self)
        choose_by, ladder = self.options.get("choose_by", "everything"), self.options.get("k")
        try:
            if choose_by == "quasi_identifiers":
                require_choosable(self.aims, self.hierarchies, self.options.get("useful_for"))
            require_ladder(ladder, self.aims, choose_by)
            chosen = self.options.get("approximation"), self.options.get("search", "best")
            require_approximation(*chosen, self.options.get("max_suppression", 0))
        except ParameterError as problem:
            raise PolicyError(f"anonymize: {problem}") from None

    def run(self, source: Source, request: Request) -> Anonymized:
        """Search and apply, or continue the releases of the history in use."""
        if self.removes_worst:
            return self._run_without_worst(source, request)
        if not self.continues:
            return super().run(source, request)
        made, plan, continuation = release_together(self, source, request)
        return Anonymized(
            made=made,
            method=self.name,
            makes=self.makes,
            left_out=tuple(name for name in source.columns if self.rules.roles[name] == "identifier"),
            result=plan,
            plan=plan,
            continuation=continuation,
        )

    def _require_removable(self) -> None:
        scores = [one for one in self.rules.requirements if one.metric == "privacy_score"]
        if len(scores) != 1:
            raise PolicyError(f"suppress: {{worst: privacy_score}} needs one privacy_score to meet, not {len(scores)}")
        if not self.aims or any(one.definition.needs_population for one in self.aims):
            raise PolicyError(
                "suppress: {worst: privacy_score} goes with other requirements on classes, such as k_anonymity, and "
                "without a population"
            )
        if not self.options.get("max_suppression"):
            raise PolicyError("suppress: {worst: privacy_score} needs max_suppression, the share of rows that may go")
        if self.continues or self.options.get("choose_by", "everything") != "everything":
            raise PolicyError(
                "suppress: {worst: privacy_score} looks at sensitive values in every release; it does not go with "
                "choose_by: quasi_identifiers or releases: together"
            )

    def _run_without_worst(self, source: Source, request: Request) -> Anonymized:
        """Generalize in memory, remove the people at the highest risk, and write the rest in the engine."""
        from privacy_plugin.sources.drawn_rows import build_arrow_table  # imports Arrow

        kept = [name for name in source.columns if self.rules.roles[name] != "identifier"]
        rows = open_source(build_arrow_table(source.frequencies(kept)))
        found = super().run(rows, replace(request, target=None, final=None))
        made = open_source(found.made)
        table = made.frequencies(made.columns)
        total = rows.row_count()
        request.report("removing the people at the highest risk")
        score = next(one for one in self.rules.requirements if one.metric == "privacy_score")
        left, removal = suppress_worst(
            table,
            score=score,
            others=self.aims,
            attributes=(*self.rules.columns("quasi_identifier"), *self.rules.columns("sensitive")),
            quasi_identifiers=self.rules.columns("quasi_identifier"),
            max_suppression=self.options["max_suppression"],
            suppressed=total - table.rows,
        )
        request.report("writing")
        return replace(
            found,
            made=source.write_rows(left, target=request.target, verify=lambda _: None),
            left_out=tuple(name for name in source.columns if self.rules.roles[name] == "identifier"),
            removal=removal,
        )

    @abstractmethod
    def search(self, source: Source, *, population: Any, progress: Progress | None) -> Plan | LocalPlan:
        """Find a plan."""

    def arguments(self, population: Any, progress: Progress | None) -> dict[str, Any]:
        """Return the arguments of the search, apart from the data."""
        return {
            **{name: value for name, value in self.options.items() if name not in _NOT_OF_THE_SEARCH},
            "hierarchies": self.hierarchies,
            "requirements": self.aims,
            "attributes": (*self.rules.columns("quasi_identifier"), *self.rules.columns("sensitive")),
            "population": population,
            "unit": self.rules.counted,
            "count": self.rules.count,
            "progress": progress,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What labels and classes tell, as far as the policy alone says it."""
        observed = self.options.get("labels") == "observed"
        looks = self.options.get("choose_by", "everything") == "everything" and looks_at_values(self.aims)
        removes = (NOTE,) if self.removes_worst else ()
        return (*((OBSERVED_NOTE,) if observed else ()), *((SEARCH_NOTE,) if looks else ()), *removes)

    def notes_on(self, plan: Any) -> tuple[str, ...]:
        """Return the notes of the plan, which counts the classes that follow from sensitive values."""
        if not isinstance(plan, Plan | LocalPlan):
            return self.notes
        return (*plan.notes, *((NOTE,) if self.removes_worst else ()))

    def apply(self, result: Any, source: Source, *, target: str | None, keep: Sequence[str], population: Any) -> Any:
        """Write the labels of the plan, and suppress the classes that fail in this table."""
        return result.apply(source, target=target, keep=keep, population=population)


class GeneralizeMethod(GeneralizingMethod):
    """The least generalization and suppression that meets every requirement."""

    name = "generalize"
    function = generalize
    supplied = (
        *("data", "hierarchies", "requirements", "sensitive", "attributes", "population", "unit", "count"),
        *("progress", "reveal"),
    )
    makes = "plan"
    doing = "searching for the least generalization that meets the policy"
    done = "generalized until it meets its privacy policy"
    plan_type = Plan

    def search(self, source: Source, *, population: Any, progress: Progress | None) -> Plan:
        """Search the lattice of levels."""
        return generalize(source, **self.arguments(population, progress))
