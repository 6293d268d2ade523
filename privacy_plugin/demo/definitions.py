"""The reference pipeline: hospital visits as they are (the gate fails), generalized, and as a pair (it passes).

Start it with `dagster dev -m privacy_plugin.demo.definitions`, and under Jobs launch `release_as_is` (fails), then
`release_anonymized` and `release_pair` (pass). PRIVACY_PLUGIN_WAREHOUSE is the database (a SQLAlchemy URL),
PRIVACY_PLUGIN_OUTPUT the folder of certificates and reports, PRIVACY_PLUGIN_DEMO_ROWS the number of visits. Browsers
block links to local files: to open the reports from Dagster, serve their folder on the loopback address (`python -m
http.server --bind 127.0.0.1 --directory demo-output/reports 8000`) and set PRIVACY_PLUGIN_REPORTS_URL to that URL.
"""

import os
from collections.abc import Iterator
from importlib.resources import files

import dagster as dg

from privacy_plugin.demo.hospital import load_hospital
from privacy_plugin.orchestration import (
    CertificateStoreResource,
    WarehouseResource,
    build_anonymized_asset,
    build_candidate_asset,
    build_privacy_checks,
    build_release_asset,
    when_gate_passed,
)
from privacy_plugin.policy.policy import Policy

ROWS = int(os.environ.get("PRIVACY_PLUGIN_DEMO_ROWS", "1000000"))
POLICY = Policy.load(str(files("privacy_plugin.demo") / "policy.yaml"))
PAIR_POLICY = Policy.load(str(files("privacy_plugin.demo") / "anatomy.yaml"))


@dg.multi_asset(
    specs=[
        dg.AssetSpec(
            "hospital_visits", description="A generated year of hospital visits, one per person.", group_name="sources"
        ),
        dg.AssetSpec(
            "population_register",
            description="The population of which the patients are a subset.",
            group_name="sources",
        ),
    ]
)
def hospital(warehouse: WarehouseResource) -> Iterator[dg.MaterializeResult[None]]:
    """Generate both tables again from the same seed."""
    load_hospital(warehouse.engine, rows=ROWS, seed=7)
    yield dg.MaterializeResult(asset_key="hospital_visits", metadata={"dagster/row_count": ROWS})
    yield dg.MaterializeResult(asset_key="population_register")


defs = dg.Definitions(
    assets=[
        hospital,
        build_candidate_asset(
            name="visits_as_is",
            asset="hospital_visits",
            policy=POLICY,
            table="hospital_visits",
            group_name="candidates",
        ),
        build_anonymized_asset(
            name="visits_anonymized",
            asset="hospital_visits",
            policy=POLICY,
            table="hospital_visits",
            population_table="population_register",
            group_name="candidates",
        ),
        build_release_asset(
            name="visits_as_is_release",
            asset="visits_as_is",
            policy=POLICY,
            table="visits_as_is",
            population_table="population_register",
            group_name="releases",
            automation_condition=when_gate_passed(),
        ),
        build_release_asset(
            name="visits_release",
            asset="visits_anonymized",
            policy=POLICY,
            table="visits_anonymized",
            population_table="population_register",
            group_name="releases",
            automation_condition=when_gate_passed(),
        ),
        build_anonymized_asset(
            name="diagnoses_dealt",
            asset="hospital_visits",
            policy=PAIR_POLICY,
            table="hospital_visits",
            group_name="candidates",
        ),
        build_release_asset(
            name="diagnoses_release",
            asset="diagnoses_dealt",
            policy=PAIR_POLICY,
            table="diagnoses_dealt",
            group_name="releases",
            automation_condition=when_gate_passed(),
        ),
    ],
    asset_checks=[
        build_privacy_checks(asset="diagnoses_dealt", policy=PAIR_POLICY, table="diagnoses_dealt"),
        build_privacy_checks(
            asset="visits_as_is", policy=POLICY, table="visits_as_is", population_table="population_register"
        ),
        build_privacy_checks(
            asset="visits_anonymized", policy=POLICY, table="visits_anonymized", population_table="population_register"
        ),
    ],
    jobs=[
        dg.define_asset_job(
            "release_as_is",
            selection=["hospital_visits", "population_register", "visits_as_is", "visits_as_is_release"],
            executor_def=dg.in_process_executor,
            description="Tries to release the table as it is; the gate fails and nothing is released.",
        ),
        dg.define_asset_job(
            "release_anonymized",
            selection=["hospital_visits", "population_register", "visits_anonymized", "visits_release"],
            executor_def=dg.in_process_executor,
            description="Generalizes the table, judges it, and releases it with a certificate.",
        ),
        dg.define_asset_job(
            "release_pair",
            selection=["hospital_visits", "population_register", "diagnoses_dealt", "diagnoses_release"],
            executor_def=dg.in_process_executor,
            description="Deals people to buckets, judges people and values as a pair, and releases both together.",
        ),
    ],
    resources={
        "warehouse": WarehouseResource.from_environment(),
        "certificates": CertificateStoreResource.from_environment(),
    },
    executor=dg.in_process_executor,
)
