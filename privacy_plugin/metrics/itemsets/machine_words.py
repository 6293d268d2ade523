"""Bits of 64-bit words, for compiled code that keeps sets in them; one instruction each."""

from typing import Any

from numba.core import types
from numba.extending import intrinsic


def _popcount(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _lowest(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, 0))

    return types.int64(types.uint64), generate


popcount: Any = intrinsic(_popcount)  # how many bits are set
lowest: Any = intrinsic(_lowest)  # the place of the lowest set bit; 64 where there is none
