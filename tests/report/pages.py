"""A small table with rare marker values, judged as it is and generalized, and its report taken apart."""

from html.parser import HTMLParser
from typing import Any

import pandas as pd

import privacy_plugin as pp
from privacy_plugin.gate.certificate import Certificate, issue
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.generalization.plan import Plan
from tests.certificates import KEYS

MARKERS = ("zqmarkerplace", "zqmarkerillness", "zqmarkerperson")

POLICY: dict[str, Any] = {
    "dataset": "ward <visits> & more",
    "columns": {
        "person": "identifier",
        "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"start": 0, "stop": 100, "widths": [10, 50]}}},
        "place": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 13}}},
        "illness": "sensitive",
        "note <b>": "insensitive",
    },
    "requirements": [
        {"preset": "k5"},
        {"l_diversity": {"variant": "distinct", "at_least": 2}},
        {"t_closeness": {"at_most": 0.6}},
        {"reidentification_risk": {"variant": "average", "at_most": 0.5}},
    ],
    "anonymize": {"method": "generalize", "max_suppression": 0.1},
}


def policy(**changed: Any) -> pp.Policy:
    """The policy, with some keys changed."""
    return pp.Policy.from_dict({**POLICY, **changed})


def people() -> pd.DataFrame:
    """Sixty-one people, one of them with a marker in every column."""
    rows = [(20 + n % 40, f"town{n % 3}", ["flu", "cold", "cough"][n % 3 if n % 5 else 0], n % 2) for n in range(60)]
    rows.append((33, MARKERS[0], MARKERS[1], 0))
    frame = pd.DataFrame(rows, columns=["age", "place", "illness", "note <b>"])
    frame.insert(0, "person", [f"p{n}" for n in range(60)] + [MARKERS[2]])
    return frame


def judged(rules: pp.Policy) -> tuple[Verdict, Verdict, Plan, Certificate]:
    """The verdict on the table as it is, on the generalized one, the plan, and the certificate of the latter."""
    frame = people()
    before = rules.judge(frame.drop(columns="person"))
    plan = pp.generalize(frame, hierarchies=rules.hierarchies, requirements=rules.requirements, **rules.anonymize)
    after = rules.judge(plan.apply(frame, keep=rules.rules.released), fingerprint=True)
    assert not before.passed
    assert after.passed
    return before, after, plan, issue(after, keys=KEYS)


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.css = ""
        self._inside: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" in self._inside:
            self.css += data
        else:
            self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a name."""
        return [attributes for name, attributes in self.tags if name == tag]

    def classes(self, name: str) -> list[str]:
        """The names of the elements that have a class."""
        return [tag for tag, attributes in self.tags if name in (attributes.get("class") or "").split()]
