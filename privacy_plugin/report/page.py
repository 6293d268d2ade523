"""The page: one HTML file without network access, for light and dark screens and for print."""

from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files

from privacy_plugin.anonymizers.base import AnonymizerResult
from privacy_plugin.atomic_write import write_atomically
from privacy_plugin.errors import ParameterError, describe_error
from privacy_plugin.gate.certificate import Certificate
from privacy_plugin.gate.verdict import Verdict
from privacy_plugin.locations import Location, parse_location
from privacy_plugin.markup import Child, Markup, element
from privacy_plugin.policy.policy import Policy
from privacy_plugin.report.banner import banner, clauses, overview
from privacy_plugin.report.changes import changes
from privacy_plugin.report.content import ReportContent
from privacy_plugin.report.findings import findings
from privacy_plugin.report.limitations import limitations
from privacy_plugin.report.provenance import certificate_section, provenance, sign_off
from privacy_plugin.report.timeline import timeline
from privacy_plugin.report.usefulness import Usefulness
from privacy_plugin.report.what_is_left import what_is_left

SECTIONS: tuple[Callable[[ReportContent], Markup], ...] = (
    banner,
    overview,
    clauses,
    findings,
    changes,
    what_is_left,
    timeline,
    provenance,
    certificate_section,
    limitations,
    sign_off,
)

# The browser blocks every request that this page could make.
_CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_report(
    *,
    policy: Policy,
    verdicts: Sequence[tuple[str, Verdict]],
    plan: AnonymizerResult | None = None,
    certificate: Certificate | None = None,
    title: str | None = None,
    usefulness: Usefulness | None = None,
    steps: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the report as one self-contained HTML page.

    `verdicts` are labelled and in order, such as ("as it is", ...), ("anonymized", ...); the last one decides the
    banner. With a `usefulness` (`measure_usefulness`), the page also shows what the release keeps of its original.
    `steps`: what was done besides the plan. It holds names of columns, counts and digests, and no value of the table.
    With a history in use, it shows the releases of the dataset and what each of them added.
    """
    content = ReportContent(
        policy=policy,
        verdicts=tuple(verdicts),
        plan=plan,
        certificate=certificate,
        title=title,
        usefulness=usefulness,
        steps=steps,
    )
    return html_page(content.heading, [build(content) for build in SECTIONS])


def html_page(heading: str, body: Iterable[Child]) -> str:
    """Return a page with the style of the report; a browser that shows it makes no request."""
    style = files("privacy_plugin.report").joinpath("style.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_CONTENT_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", heading),
        element("style", Markup(style)),
    )
    main = element("main", element("h1", heading), body, id="main")
    skip = element("a", "Skip to the verdict", href="#main", class_="skip")
    return "<!DOCTYPE html>\n" + element("html", head, element("body", skip, main), lang="en") + "\n"


def write_report(
    path: str | Location,
    *,
    policy: Policy,
    verdicts: Sequence[tuple[str, Verdict]],
    plan: AnonymizerResult | None = None,
    certificate: Certificate | None = None,
    title: str | None = None,
    usefulness: Usefulness | None = None,
    steps: Sequence[tuple[str, str]] = (),
) -> Location:
    """Write the report to a file, whole or not at all, and return its path."""
    page = render_report(
        policy=policy,
        verdicts=verdicts,
        plan=plan,
        certificate=certificate,
        title=title,
        usefulness=usefulness,
        steps=steps,
    )
    return write_page(path, page)


def write_page(path: str | Location, page: str) -> Location:
    """Write a page to a file, whole or not at all, and return its path."""
    target = parse_location(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, page)
    except OSError as problem:
        raise ParameterError(f"cannot write the report {str(path)!r}: {describe_error(problem)}") from None
    return target
