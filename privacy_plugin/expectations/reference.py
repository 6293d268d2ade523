"""The reference page of the expectations: `python -m privacy_plugin.expectations.reference > docs/expectations.md`."""

import inspect

import privacy_plugin.expectations as package
from privacy_plugin.expectations.base import PrivacyExpectation

_INTRODUCTION = """# Expectations

Import them from `privacy_plugin.expectations`. Every field may be a runtime parameter, `{"$PARAMETER": "name"}`, and
exactly one limit is given. All take `row_condition` and the fields that GX gives every expectation. Numbers are never
converted: 2.7 people are refused. `SUMMARY` and `COMPLETE` results add sentences on what a pass means and on the
attacker; no result holds a value of the table. Whole policies are judged by
[a stored checkpoint](great-expectations.md).
"""


def reference() -> str:
    """Return the page, made from the classes."""
    parts = [_INTRODUCTION]
    for name in package.__all__:
        expectation = getattr(package, name)
        if not issubclass(expectation, PrivacyExpectation):
            continue
        text, _, example = inspect.cleandoc(expectation.__doc__ or "").partition(">>> ")
        parts += [f"## {name}\n", text.strip() + "\n", "| field | default | |\n| --- | --- | --- |"]
        for field_name in expectation.success_keys:
            field = expectation.__fields__[field_name]
            default = "required" if field.required else f"`{field.default}`"
            parts.append(f"| `{field_name}` | {default} | {field.field_info.description or ''} |")
        parts.append(f"\n    {'    '.join((('>>> ' + example).rstrip()).splitlines(keepends=True))}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(reference(), end="")
