"""The content of a report: a policy, the verdicts given under it, a plan and a certificate."""

from collections.abc import Sequence
from dataclasses import dataclass

from privacy_plugin.anonymizers.base import AnonymizerResult
from privacy_plugin.errors import ParameterError
from privacy_plugin.gate.certificate import Certificate
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.generalization.plan import TradeOff
from privacy_plugin.policy.policy import Policy
from privacy_plugin.report.usefulness import Usefulness
from privacy_plugin.requirements.requirement import Finding


@dataclass(frozen=True, kw_only=True)
class ReportContent:
    """A policy and the verdicts given under it, oldest first; the last one decides the banner."""

    policy: Policy
    verdicts: tuple[tuple[str, Verdict], ...]
    plan: AnonymizerResult | None = None
    certificate: Certificate | None = None
    title: str | None = None
    usefulness: Usefulness | None = None
    steps: Sequence[tuple[str, str]] = ()
    """What was done besides the plan, such as who was removed afterwards: a name and a sentence each."""

    def __post_init__(self) -> None:
        """Raise for verdicts or a certificate of another policy: a report never mixes policies."""
        if not self.verdicts:
            raise ParameterError("a report needs at least one verdict, got none")
        for label, verdict in self.verdicts:
            if verdict.policy_digest != self.policy.digest:
                raise ParameterError(f"the verdict {label!r} was given under another policy than the report's")
        if self.certificate is not None and self.certificate.content.get("policy_digest") != self.policy.digest:
            raise ParameterError("the certificate was issued under another policy than the report's")

    @property
    def final(self) -> Verdict:
        """The last verdict."""
        return self.verdicts[-1][1]

    @property
    def heading(self) -> str:
        """The title of the page."""
        return self.title or f"Privacy of {self.policy.dataset}"

    @property
    def trade_off(self) -> tuple[Sequence[TradeOff], str]:
        """The curve of loss against k that was computed for the report, and why there is none."""
        found = self.usefulness
        return ((), "") if found is None else (found.trade_off, found.trade_off_problem)

    def findings(self, number: int) -> Sequence[tuple[str, Finding | None]]:
        """What every verdict found about one requirement; None where the gate shut before it was measured."""
        return [(label, v.findings[number] if v.findings else None) for label, v in self.verdicts]
