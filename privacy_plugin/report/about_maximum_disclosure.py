"""Maximum disclosure in the report: the worst knowledge in words, and the curve over the number of facts."""

from privacy_plugin.metrics.maximum_disclosure.metric import DisclosureMeasurement
from privacy_plugin.report.about import report_section
from privacy_plugin.report.disclosure_curve import band_chart, curve_chart
from privacy_plugin.report.markup import Markup, element, table
from privacy_plugin.requirements.requirement import Finding, shown

_KINDS = {"implications": "implications", "negations": "negations only"}


def _section(finding: Finding) -> Markup | None:
    found = finding.measurement
    if not isinstance(found, DisclosureMeasurement):
        return None
    sentences = found.witness.sentences()
    return element(
        "div",
        element("p", element("strong", "The worst such attacker. "), found.witness.words().split(" Known: ")[0]),
        element("p", "What they would have to know:") if sentences else None,
        element("ul", [element("li", sentence) for sentence in sentences]) if sentences else None,
        _curves(found, finding),
        _entropy(found, finding),
    )


def _entropy(found: DisclosureMeasurement, finding: Finding) -> Markup:
    """Draw what the classes give away by how uneven they are: even ones may give away much too, beside uneven ones."""
    bands = found.details["entropy_bands"]
    ends = ", ".join(f"{band['from']:.2g} to {band['to']:.2g}: {shown(band['highest'])}" for band in bands)
    rows = [
        [
            f"{band['from']:.2g} to {band['to']:.2g}",
            f"{band['classes']:,}",
            f"{band['people']:,}",
            shown(band["highest"]),
        ]
        for band in bands
    ]
    heads = ["entropy of the class", "classes", "people", "highest disclosure"]
    least = f"The most uneven class has an entropy of {found.details['least_entropy']:.3g} (natural logarithm)."
    return element(
        "figure",
        band_chart(
            [(band["from"], band["to"], band["highest"]) for band in bands],
            limit=float(finding.limit.bounds[-1]),
            said=str(finding.limit),
            description=f"Bands of entropy and the highest disclosure of the classes in each: {ends}.",
        ),
        element("p", least, class_="note"),
        element("details", element("summary", "By entropy"), table("Classes by how uneven they are", heads, rows)),
    )


def _curves(found: DisclosureMeasurement, finding: Finding) -> Markup | None:
    """Draw what every number of facts up to the required one gives away; with none there is no curve."""
    curves = {name: [float(v) for v in curve] for name, curve in found.details["curves"].items() if len(curve) > 1}
    if not curves:
        return None
    names = list(curves)
    ends = ", ".join(f"{_KINDS[name]} {shown(curves[name][0])} to {shown(curves[name][-1])}" for name in names)
    description = f"Line chart: maximum disclosure by the number of facts that an attacker knows: {ends}."
    rows = [[str(facts), *(shown(curves[name][facts]) for name in names)] for facts in range(len(curves[names[0]]))]
    heads = ["facts known", *(_KINDS[name] for name in names)]
    return element(
        "figure",
        curve_chart(
            {_KINDS[name]: curve for name, curve in curves.items()},
            limit=float(finding.limit.bounds[-1]),
            said=str(finding.limit),
            description=description,
        ),
        element("details", element("summary", "The curves"), table("Maximum disclosure by knowledge", heads, rows)),
    )


report_section(
    "maximum_disclosure",
    axis="highest probability of naming {sensitive} in the class",
    shows="Nobody's sensitive value can be named with the limit's probability, not even by an attacker who knows "
    "everybody's class and as many further facts as stated, whichever those are.",
    hides="What more facts, or facts of another kind, would give away; that is what the curve is for. Nor what the "
    "values mean: three kinds of cancer count as three values.",
    section=_section,
)
