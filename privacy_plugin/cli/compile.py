"""`compile`: compile the hot loops once, so that the first gate of a new machine or image does not wait."""

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PyCompileError
from py_compile import compile as py_compile
from typing import Any

from privacy_plugin.cli.options import Json
from privacy_plugin.cli.terminal import PASSED, Terminal, command


@command
def compile(as_json: Json = False) -> int:
    """Compile the hot loops of searches and metrics and all imported modules, and keep them for every later process.

    numba keeps compiled code next to the package, or in the folder NUMBA_CACHE_DIR where the package is read-only. Run
    it once after installation, as the same user and on the same kind of processor as the pipeline. Without it, the
    first use of each loop takes seconds longer. Modules are compiled to bytecode, which some installers (uv, images
    with PYTHONDONTWRITEBYTECODE) leave out: every process then compiles all libraries again.

    For example:

    - `privacy-plugin compile`
    - `NUMBA_CACHE_DIR=/var/cache/privacy_plugin privacy-plugin compile`
    """
    from privacy_plugin import compiled

    terminal = Terminal(as_json=as_json)
    seconds: dict[str, float] = {}
    compiled.INTERPRETED_STEPS = 0
    for name, use in {**_uses(), "modules": keep_bytecode}.items():
        with terminal.show_progress(f"compiling {name}"):
            started = time.perf_counter()
            use()
            seconds[name] = round(time.perf_counter() - started, 1)
        terminal.print_line(f"{name}: {seconds[name]:.1f} s")
    terminal.print_json({"seconds": seconds})
    return PASSED


def keep_bytecode(modules: Iterable[Any] | None = None) -> None:
    """Compile the files of all modules that are imported and have no bytecode; folders may be read-only."""
    for module in list(sys.modules.values() if modules is None else modules):
        file = getattr(module, "__file__", None)
        if not file or not file.endswith(".py"):
            continue
        if not Path(cache_from_source(file)).exists():
            with suppress(OSError, PyCompileError):
                py_compile(file, doraise=True)


def _uses() -> dict[str, Callable[[], Any]]:
    """Return a small use of everything that is compiled, by name; the types are those of real tables."""
    import numpy as np
    import pandas as pd

    import privacy_plugin as pp
    import privacy_plugin.cli.check
    import privacy_plugin.sources.sql.files
    import privacy_plugin.sources.sql.source
    from privacy_plugin.generalization.walk.counts import suppressed_counts

    people = pd.DataFrame(
        {
            "age": [20 + n % 40 for n in range(240)],
            "sex": ["f", "m"] * 120,
            "place": [f"p{n % 7}" for n in range(240)],
            "illness": [("flu", "gout", "cold")[n % 3] for n in range(240)],
        }
    )
    known = ["age", "sex", "place"]
    hierarchies = {
        "age": pp.interval_hierarchy(start=0, stop=100, widths=[5, 10, 20]),
        "sex": pp.tree_hierarchy({"any": ["f", "m"]}),
        "place": pp.tree_hierarchy({"north": ["p0", "p1", "p2"], "south": ["p3", "p4", "p5", "p6"]}),
    }
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    levels = np.array([[0, 1], [0, 0]], dtype=np.int32)
    size = pp.require("k_anonymity", at_least=5)
    diverse = pp.require("l_diversity", variant="distinct", at_least=2)
    close = pp.require("t_closeness", at_most=0.4)

    def generalize(*requirements: Any) -> Any:
        return pp.generalize(
            people,
            hierarchies=hierarchies,
            requirements=requirements,
            max_suppression=0.2,
            sensitive="illness",
            loss="loss_metric",
        )

    def locally(*requirements: Any) -> Any:
        return pp.generalize_locally(people, hierarchies=hierarchies, requirements=requirements, sensitive="illness")

    return {
        "search by class sizes": lambda: suppressed_counts(codes, np.ones(4, dtype=np.int64), [levels, levels], k=2),
        "search by sensitive values": lambda: generalize(size, diverse, close),
        "local generalization": lambda: locally(size, diverse, close),
        "maximum disclosure": lambda: (
            pp.maximum_disclosure(people, quasi_identifiers=["sex"], sensitive="illness", knowledge=2).witness
        ),
        "privacy score": lambda: pp.privacy_score(
            people,
            attributes=known,
            likelihood=dict.fromkeys(known, 1.0),
            danger=dict.fromkeys(known, 1.0),
        ),
        "presence confidence": lambda: pp.presence_confidence(
            people.head(60),
            quasi_identifiers=["sex", "place"],
            marginals=pp.population_marginals(people, columns=["sex", "place"]),
            population_size=len(people),
            delta=(0.0, 0.9),
        ),
        "itemsets and Krimp": lambda: (
            pp.itemset_difference(people, original=people, attributes=known),
            pp.compression_difference(people, original=people, attributes=known),
        ),
    }
