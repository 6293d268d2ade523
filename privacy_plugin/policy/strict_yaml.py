"""YAML of which only that is read which means what a person sees.

YAML keeps the last of two equal keys, so that a second `columns` would undo the first. And it reads 010 as 8, 1:30 as
90 and 1_0 as 10: a limit would be another one than was signed off. Only 1.0e-6 is a number to it, 1e-6 is text; that
is read as a number, but without a sign of its exponent it stays text: 1E50 is a code of diseases. And a number of more
digits than a float keeps, 0.09999999999999999999, would be read as 0.1.
"""

import re
from collections.abc import Hashable
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

import yaml

_EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+][0-9]+$")
_OWN_WORDS = r"'(?:[][{},:?%@`|>&*!-]|<[a-z ]+>)'"  # signs and parts of YAML itself, which no value is
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]{0,99})")


def read_plain(text: str) -> Any:
    """Read one document; raises yaml.YAMLError for whatever cannot be read or would be read as something else.

    >>> read_plain("at_least: 10")
    {'at_least': 10}
    >>> read_plain("delta: 1e-6")
    {'delta': 1e-06}
    >>> read_plain("illness: 1E50")
    {'illness': '1E50'}
    """
    return yaml.load(text, Loader=_PlainLoader)


def fault(problem: yaml.YAMLError) -> str:
    """Say where a file breaks, and why up to the first quote of it: what YAML quotes may be a value of a hierarchy."""
    mark = getattr(problem, "problem_mark", None)
    words = getattr(problem, "problem", None) or type(problem).__name__
    if mark is not None and mark.buffer and mark.buffer[mark.pointer] == "\t":
        words = "a tab; YAML takes spaces"
    elif "<block" in words:
        words = "the line begins further left or right than those it belongs to"
    elif "expected ':'" in words:  # which is noticed a line later
        mark, words = getattr(problem, "context_mark", None) or mark, "expected ':' after a name"
    elif "mapping values" in words:
        words = "a ':' too many, or one is missing in the line before; put text in quotes"
    own = re.compile(f"(?:[^'\"]|{_OWN_WORDS})*").match(words)
    told = own.group() if own else ""
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    hint = " (put text in quotes)" if "found" in told else ""
    return f"{where}{told}{'' if told == words else '...'}{hint}"


class _PlainLoader(yaml.SafeLoader):
    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, KeyError, AttributeError):  # as 2024-02-30 is; Python's words would quote some
            _refuse("this is no value of its kind; put text in quotes", node)


def _mapping(loader: _PlainLoader, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    mapping: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable):
            _refuse("a key must be one plain value", key_node)
        if key in mapping:
            _refuse("a key is given twice", key_node)
        mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


def _whole_number(loader: _PlainLoader, node: yaml.ScalarNode) -> int:
    if not _WHOLE.fullmatch(str(node.value)):
        _refuse("a whole number is written in decimal digits, without a zero first; put text in quotes", node)
    return int(node.value)


def _number(loader: _PlainLoader, node: yaml.ScalarNode) -> float:
    if "_" in node.value or ":" in node.value:
        _refuse("a number is written in decimal digits; put text in quotes", node)
    number = float(loader.construct_yaml_float(node))
    if not _says(node.value, number):
        _refuse("a number has more digits than are kept; write a fraction such as 1/3, or put text in quotes", node)
    return number


def _says(text: str, number: float) -> bool:
    """Tell whether the text of a number (not .inf or .nan) states what was read, digit by digit."""
    if not any(map(str.isdigit, text)):
        return True
    try:
        return Decimal(text) == Decimal(repr(number))
    except InvalidOperation:  # an exponent beyond all numbers
        return False


def _refuse(words: str, node: yaml.Node) -> NoReturn:
    raise yaml.constructor.ConstructorError(None, None, words, node.start_mark)


_PlainLoader.add_constructor("tag:yaml.org,2002:map", _mapping)
_PlainLoader.add_constructor("tag:yaml.org,2002:int", _whole_number)
_PlainLoader.add_constructor("tag:yaml.org,2002:float", _number)
_PlainLoader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+0123456789"))
