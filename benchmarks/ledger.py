"""How long a reservation takes after 10, 100,000 and 1,000,000 spends of one dataset: the ratio must stay near 1."""

import statistics
import tempfile
import time
from pathlib import Path

import sqlalchemy as sa

from privacy_plugin.ledger import BudgetLedger
from privacy_plugin.ledger.tables import SPENDS, TOTALS

VISITS = {"dataset": "visits", "unit": "row"}


def seconds(spends: int) -> float:
    """Return the median time of a reservation in a SQLite ledger with this many spends."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = BudgetLedger(f"sqlite:///{Path(folder) / 'ledger.db'}")
        ledger.set_cap(**VISITS, epsilon=10**9, delta="1/1000000")
        ledger.reserve(**VISITS, epsilon="1/1000", mechanism="first")
        with ledger._engine.begin() as connection:
            first = dict(connection.execute(sa.select(SPENDS)).mappings().one())
            more = ({**first, "id": f"{number:032x}"} for number in range(spends - 1))
            while block := [row for _, row in zip(range(50_000), more, strict=False)]:
                connection.execute(sa.insert(SPENDS), block)
            total = {"spends": spends, "epsilon": f"{spends}/1000", "rho": f"{spends}/2000000"}
            connection.execute(sa.update(TOTALS).values(**total))
        times = []
        for _ in range(25):
            start = time.perf_counter()
            ledger.reserve(**VISITS, epsilon="1/1000", mechanism="next")
            times.append(time.perf_counter() - start)
        ledger.close()
    return statistics.median(times)


if __name__ == "__main__":
    few = seconds(10)
    print(f"10 spends: {1000 * few:.1f} ms a reservation")
    for number in (100_000, 1_000_000):
        many = seconds(number)
        print(f"{number:,} spends: {1000 * many:.1f} ms a reservation, {many / few:.2f} times that after 10")
