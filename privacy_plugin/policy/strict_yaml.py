"""Strict YAML: rejects duplicate keys, aliases, ambiguous scalars and numbers that a float cannot hold.

Standard YAML keeps the last of two equal keys: a second `columns` would replace the first. It reads 010 as 8, 1:30 as
90 and 1_0 as 10, so that a limit would differ from the one that was reviewed. It reads 1.0e-6 as a number but 1e-6 as
text; here both are numbers, while 1E50, without a sign in the exponent, stays text (an ICD code). A number with more
digits than a float keeps, such as 0.09999999999999999999, would be read as 0.1. Nine aliases of aliases can stand for
a billion values, so that aliases and deep nesting are rejected before anything is built.
"""

import re
from collections.abc import Hashable
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

import yaml

_EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+][0-9]+$")
_OWN_WORDS = r"'(?:[][{},:?%@`|>&*!-]|<[a-z ]+>)'"  # YAML syntax, never a value
_DEEPEST = 50
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]{0,99})")


def load_yaml(text: str) -> Any:
    """Load one document; raise yaml.YAMLError if it is malformed or ambiguous.

    >>> load_yaml("at_least: 10")
    {'at_least': 10}
    >>> load_yaml("delta: 1e-6")
    {'delta': 1e-06}
    >>> load_yaml("illness: 1E50")
    {'illness': '1E50'}
    """
    return yaml.load(text, Loader=_StrictLoader)


def describe_yaml_error(problem: yaml.YAMLError) -> str:
    """Return line, column and reason of an error, cut before the first quote: it may be a value of a hierarchy."""
    mark = getattr(problem, "problem_mark", None)
    words = getattr(problem, "problem", None) or type(problem).__name__
    if mark is not None and mark.buffer and mark.buffer[mark.pointer] == "\t":
        words = "a tab; indent with spaces"
    elif "<block" in words:
        words = "the indentation differs from the other lines of this block"
    elif "expected ':'" in words:  # YAML notices it one line later
        mark, words = getattr(problem, "context_mark", None) or mark, "expected ':' after a name"
    elif "mapping values" in words:
        words = "an unexpected ':', or one is missing in the line before; put text in quotes"
    own = re.compile(f"(?:[^'\"]|{_OWN_WORDS})*").match(words)
    reason = own.group() if own else ""
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    hint = " (put text in quotes)" if "found" in reason else ""
    return f"{where}{reason}{'' if reason == words else '...'}{hint}"


class _StrictLoader(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        self.depth = getattr(self, "depth", 0) + 1
        if isinstance(event, yaml.AliasEvent) or self.depth > _DEEPEST:
            deep = f"more than {_DEEPEST} levels of nesting"
            reason = "aliases are not supported; put text in quotes" if self.depth <= _DEEPEST else deep
            raise yaml.composer.ComposerError(None, None, reason, event.start_mark)
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, KeyError, AttributeError):  # such as 2024-02-30; Python's message would quote it
            _reject("invalid value; put text in quotes", node)


def _construct_mapping(loader: _StrictLoader, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    mapping: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable):
            _reject("a key must be a scalar", key_node)
        if key in mapping:
            _reject("a key is given twice", key_node)
        mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


def _construct_integer(loader: _StrictLoader, node: yaml.ScalarNode) -> int:
    if not _WHOLE.fullmatch(str(node.value)):
        _reject("write an integer in decimal digits without a leading zero, or put text in quotes", node)
    return int(node.value)


def _construct_float(loader: _StrictLoader, node: yaml.ScalarNode) -> float:
    if "_" in node.value or ":" in node.value:
        _reject("write a number in decimal digits, or put text in quotes", node)
    number = float(loader.construct_yaml_float(node))
    if not _is_exact(node.value, number):
        _reject(
            "a number has more digits than a float holds; write a fraction such as 1/3, or put text in quotes", node
        )
    return number


def _is_exact(text: str, number: float) -> bool:
    """Return whether the float equals the written decimal; .inf and .nan are exact."""
    if not any(map(str.isdigit, text)):
        return True
    try:
        return Decimal(text) == Decimal(repr(number))
    except InvalidOperation:  # the exponent is too large for a decimal
        return False


def _reject(words: str, node: yaml.Node) -> NoReturn:
    raise yaml.constructor.ConstructorError(None, None, words, node.start_mark)


_StrictLoader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
_StrictLoader.add_constructor("tag:yaml.org,2002:int", _construct_integer)
_StrictLoader.add_constructor("tag:yaml.org,2002:float", _construct_float)
_StrictLoader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+0123456789"))
