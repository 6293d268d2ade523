"""A run that is killed while it anonymizes loses no spend, leaves the old table, and what it left passes no gate."""

import signal
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sa

import privacy_plugin as pp
from privacy_plugin.sources import sql_table
from tests.engines import postgresql_database
from tests.processes import said, started
from tests.randomized_policies import open_ledger, people, policy_dict

ANONYMIZE = """
    import sys, time
    import sqlalchemy as sa
    import privacy_plugin as pp
    from privacy_plugin.ledger import spending
    from privacy_plugin.anonymizers.anonymize import anonymize
    from privacy_plugin.ledger import BudgetLedger
    from privacy_plugin.sources import sql_table
    from tests.randomized_policies import policy_dict

    warehouse, address, point = sys.argv[1:]
    commit = spending.Spending.commit

    def wait(spent):
        if point == "recorded":
            commit(spent)
        print(point, flush=True)
        time.sleep(600)

    spending.Spending.commit = wait  # called when the table is written aside, before it is put in place
    raw = sql_table(sa.create_engine(warehouse), "raw")
    anonymize(raw, policy=pp.Policy.from_dict(policy_dict()), target="made", ledger=BudgetLedger(address))
"""


@pytest.mark.parametrize(
    ("engine", "point", "status"),
    [
        ("sqlite", "written", "reserved"),
        ("sqlite", "recorded", "committed"),
        pytest.param("postgresql", "written", "reserved", marks=pytest.mark.postgres),
        pytest.param("postgresql", "recorded", "committed", marks=[pytest.mark.postgres, pytest.mark.slow]),
    ],
)
def test_a_killed_run_leaves_the_old_table_and_its_spend(engine: str, point: str, status: str, tmp_path: Path) -> None:
    house = postgresql_database() if engine == "postgresql" else sa.create_engine(f"sqlite:///{tmp_path / 'house.db'}")
    warehouse = house.url.render_as_string(hide_password=False)
    address = warehouse if engine == "postgresql" else f"sqlite:///{tmp_path / 'ledger.db'}"
    pd.DataFrame(people()).to_sql("raw", house, index=False)
    pd.DataFrame({"old": [1]}).to_sql("made", house, index=False)
    ledger = open_ledger(address)
    with started(ANONYMIZE, warehouse, address, point) as process:
        said(process, point)
        process.send_signal(signal.SIGKILL)
    assert [(entry.status, entry.budget.epsilon) for entry in ledger.entries()] == [(status, 1)]
    assert sql_table(house, "made").columns == ("old",)
    with pp.using_ledger(ledger):
        assert not pp.Policy.from_dict(policy_dict()).judge(sql_table(house, "made")).passed
    ledger.close()
    house.dispose()
