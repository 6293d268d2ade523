"""A dbt project: the models whose `meta` names a policy or roles of columns, and the database that they are in."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from privacy_plugin.errors import ParameterError, PolicyError, SourceError, describe_error, unknown_name
from privacy_plugin.policy.policy import Policy
from privacy_plugin.text_files import read_text_file

PROJECT_FILE, PROFILES_FILE, PROFILES_VARIABLE = "dbt_project.yml", "profiles.yml", "DBT_PROFILES_DIR"

_META = "privacy"
_PIPELINE_KEYS = ("release", "anonymized", "partition_column")  # what is made of a model; all others are of the policy
_POLICY_KEYS = ("requirements", "anonymize", "packs", "declarations", "valid_for", "count", "people", "population")
_STORED = ("table", "view", "incremental", "materialized_view", "seed", "snapshot", "source")
_ENVIRONMENT = re.compile(
    r"""\{\{\s*env_var\(\s*(['"])(?P<name>\w+)\1\s*(?:,\s*(['"])(?P<default>[^'"]*)\3\s*)?\)\s*(?:\|\s*\w+\s*)?\}\}"""
)


@dataclass(frozen=True, kw_only=True)
class GatedModel:
    """A model, seed, snapshot or source of a dbt project that has a privacy gate.

    `table` is its name in the database. With `anonymized` (a table) the gate judges that table, which is made of the
    model by the policy's method; `release` is the released table, or None for a gate without a release. `population` is
    the node, and `population_table` the table, that requirements compare with.
    """

    unique_id: str
    name: str
    table: str
    policy: Policy
    release: str | None
    anonymized: str | None = None
    partition_column: str | None = None
    population: str | None = None
    population_table: str | None = None

    @property
    def judged(self) -> str:
        """The table that the gate judges."""
        return self.anonymized or self.table


def read_manifest(path: str | Path) -> dict[str, Any]:
    """Read dbt's manifest.json, which `dbt parse` writes."""
    try:
        manifest = json.loads(read_text_file(path, largest=2**30))
    except (OSError, ValueError, RecursionError) as problem:
        raise SourceError(
            f"cannot read the dbt manifest {str(path)!r}: {describe_error(problem)}; `dbt parse` writes it"
        ) from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("nodes"), dict):
        raise SourceError(f"{str(path)!r} is not a dbt manifest; `dbt parse` writes target/manifest.json")
    return manifest


def find_project_folder(manifest: str | Path) -> Path:
    """Return the folder of dbt_project.yml: the nearest one above the manifest."""
    for folder in Path(manifest).absolute().parents:
        if (folder / PROJECT_FILE).is_file():
            return folder
    raise ParameterError(f"no {PROJECT_FILE} in a folder above {str(manifest)!r}; pass the manifest of a dbt project")


def gated_models(manifest: Mapping[str, Any], folder: Path | None) -> list[GatedModel]:
    """Return the models that have a gate, with their policies; policy files are relative to the project's folder.

    A model has a gate if its meta has `privacy`, or the meta of one of its columns does; `privacy: false` removes that
    of a whole project. Raise if there is none: a check of nothing would pass.
    """
    nodes = {**manifest["nodes"], **manifest.get("sources", {})}
    found = [
        _gated_model(unique_id, node, nodes, folder) for unique_id, node in sorted(nodes.items()) if _has_gate(node)
    ]
    if not found:
        raise ParameterError(
            "no model of the dbt project has a policy; write `meta: {privacy: {policy: visits.yaml}}` to a model, or "
            "`meta: {privacy: quasi_identifier}` to its columns and the requirements to the model, and run dbt again"
        )
    return found


def choose_models(models: Sequence[GatedModel], wanted: Sequence[str]) -> list[GatedModel]:
    """Return the models with these names (all, without names)."""
    known = {model.name for model in models}
    for name in wanted:
        if name not in known:
            raise ParameterError(unknown_name("model with a privacy policy", name, known))
    return [model for model in models if not wanted or model.name in wanted]


def _meta(node: Mapping[str, Any]) -> Any:
    """Return the entry `privacy` of a node or column; dbt writes meta to `config` and, from there, to the node."""
    for holder in (node.get("config") or {}, node):
        meta = holder.get("meta")
        if isinstance(meta, Mapping) and _META in meta:
            return meta[_META]
    return None


def _has_gate(node: Mapping[str, Any]) -> bool:
    if (node.get("config") or {}).get("enabled") is False or _meta(node) is False:
        return False
    columns = (node.get("columns") or {}).values()
    return _meta(node) is not None or any(_meta(column) is not None for column in columns)


def _gated_model(
    unique_id: str, node: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], folder: Path | None
) -> GatedModel:
    name = str(node.get("name"))
    given = _meta(node)
    if given is not None and not isinstance(given, Mapping):
        raise PolicyError(f"dbt model {name!r}: meta.privacy must be a mapping such as {{policy: visits.yaml}}")
    given = dict(given or {})
    valid = ("policy", *_PIPELINE_KEYS, *_POLICY_KEYS)
    for key in given:
        if key not in valid:
            raise PolicyError(f"dbt model {name!r}: {unknown_name('key of meta.privacy', str(key), valid)}")
    kind = node.get("resource_type")
    stored = str((node.get("config") or {}).get("materialized") or kind)
    if kind != "source" and stored not in _STORED:
        raise PolicyError(f"dbt model {name!r} is {stored}, so that no table can be judged; materialize it")
    try:
        policy = _policy(name, given, node.get("columns") or {}, folder)
    except PolicyError as problem:
        raise PolicyError(f"dbt model {name!r}: {problem}") from None
    population = _find_node(policy.population, nodes) if policy.rules.needs_population else None
    release = given.get("release", f"{_identifier(node)}_release")
    for key, table in (("release", release), ("anonymized", given.get("anonymized"))):
        if not (table is None or isinstance(table, str) or (key == "release" and table is False)):
            raise PolicyError(f"dbt model {name!r}: {key} must be the name of a table")
    return GatedModel(
        unique_id=unique_id,
        name=name,
        table=_table(node),
        policy=policy,
        release=_table(node, release) if release else None,
        anonymized=_table(node, given["anonymized"]) if given.get("anonymized") else None,
        partition_column=given.get("partition_column"),
        population=population,
        population_table=_table(nodes[population]) if population else policy.population,
    )


def _policy(name: str, given: Mapping[str, Any], columns: Mapping[str, Any], folder: Path | None) -> Policy:
    """Load the policy file of a model, or build a policy from the roles in the meta of its columns."""
    roles = {column: _meta(entry) for column, entry in columns.items() if _meta(entry) is not None}
    if "policy" not in given:
        rest = {key: value for key, value in given.items() if key in _POLICY_KEYS}
        return Policy.from_dict({"dataset": name, "columns": roles, **rest}, folder=folder or Path())
    if not isinstance(given["policy"], str):
        raise PolicyError("policy must be the path of a policy file, relative to the dbt project")
    repeated = [key for key in given if key in _POLICY_KEYS]
    if repeated:
        raise PolicyError(f"meta.privacy has both policy and {repeated[0]}; write {repeated[0]} into the policy file")
    if folder is None:
        raise PolicyError("a policy file is relative to the dbt project; pass project_dir, or the path of the manifest")
    policy = Policy.load(folder / given["policy"])
    for column, entry in roles.items():
        role = entry.get("role") if isinstance(entry, Mapping) else entry
        if policy.roles.get(column) != role:
            raise PolicyError(
                f"column {column!r} has the role {role} in its meta, and {policy.roles.get(column, 'none')} in the "
                "policy file; give it one"
            )
    return policy


def _find_node(name: str | None, nodes: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the one node with this name (a model, or source.table); None if it is the name of a table."""
    if name is None:
        return None
    names = {
        unique_id: f"{node.get('source_name')}.{node.get('name')}" if "source_name" in node else node.get("name")
        for unique_id, node in nodes.items()
        if node.get("resource_type") in ("model", "seed", "snapshot", "source")
    }
    found = [unique_id for unique_id, known in names.items() if known == name]
    if len(found) > 1:
        raise PolicyError(f"the population {name!r} is the name of {len(found)} nodes of the dbt project; rename one")
    return found[0] if found else None


def _identifier(node: Mapping[str, Any]) -> str:
    return str(node.get("alias") or node.get("identifier") or node.get("name"))


def _table(node: Mapping[str, Any], name: str | None = None) -> str:
    """Return the quoted name of a node's table, or of another table in its schema; a dotted name stands for itself."""
    if name is not None and ("." in name or '"' in name):
        return name
    parts = [node.get("database"), node.get("schema"), name or _identifier(node)]
    return ".".join('"' + str(part).replace('"', '""') + '"' for part in parts if part)


def database_url(folder: Path, *, profiles: Path | None = None, target: str | None = None) -> str:
    """Return the SQLAlchemy URL of the database that the project's profile names (DuckDB or PostgreSQL).

    Profiles are looked for where dbt does: the given folder, DBT_PROFILES_DIR, the project, ~/.dbt. Of Jinja only
    `env_var` is read. Messages never repeat a value: a profile holds passwords.
    """
    import sqlalchemy as sa

    project = _load_yaml(folder / PROJECT_FILE)
    wanted = project.get("profile")
    given = [profiles, os.environ.get(PROFILES_VARIABLE), folder, Path.home() / ".dbt"]
    places = [Path(place) / PROFILES_FILE for place in given if place]
    path = next((place for place in places[: 1 if profiles else None] if place.is_file()), None)
    if path is None:
        raise SourceError(f"no {PROFILES_FILE} in {', '.join(str(place.parent) for place in places)}; or pass --url")
    profile = _load_yaml(path).get(str(wanted))
    outputs = profile.get("outputs") if isinstance(profile, Mapping) else None
    if not isinstance(profile, Mapping) or not isinstance(outputs, Mapping):
        raise SourceError(f"{str(path)!r} has no profile {wanted!r} with outputs; or pass --url")
    chosen = target or _render(profile.get("target", "default"), "target", path)
    if not isinstance(outputs.get(chosen), Mapping):
        raise SourceError(unknown_name("target of the dbt profile", str(chosen), map(str, outputs)))
    settings = {str(key): _render(value, str(key), path) for key, value in outputs[chosen].items()}
    kind = settings.get("type")
    if kind == "duckdb" and ":" not in str(settings.get("path", ":memory:")):
        return f"duckdb:///{(folder / Path(str(settings['path'])).expanduser()).resolve()}"
    if kind == "postgres":
        secret = settings.get("password", settings.get("pass"))
        url = sa.URL.create(
            "postgresql",
            username=_text(settings.get("user")),
            password=_text(secret),
            host=_text(settings.get("host")),
            port=int(settings["port"]) if str(settings.get("port", "")).isdigit() else None,
            database=_text(settings.get("dbname", settings.get("database"))),
            query={key: str(settings[key]) for key in _POSTGRESQL_OPTIONS if settings.get(key) is not None},
        )
        return url.render_as_string(hide_password=False)
    raise SourceError("the dbt profile is of a database or service that is not read from profiles; pass --url instead")


_POSTGRESQL_OPTIONS = ("sslmode", "sslcert", "sslkey", "sslrootcert", "connect_timeout")


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _load_yaml(path: Path) -> Mapping[str, Any]:
    """Load a file of dbt; its parser's messages quote lines, which may hold passwords."""
    try:
        loaded = yaml.safe_load(read_text_file(path))
    except (OSError, UnicodeDecodeError) as problem:
        raise SourceError(f"cannot read {str(path)!r}: {describe_error(problem)}") from None
    except yaml.YAMLError:
        raise SourceError(f"{str(path)!r} is not valid YAML") from None
    if not isinstance(loaded, Mapping):
        raise SourceError(f"{str(path)!r} is not a mapping")
    return loaded


def _render(value: Any, key: str, path: Path) -> Any:
    """Replace env_var of a text; raise for other Jinja, and for a variable that is not set."""
    if not isinstance(value, str) or "{" not in value:
        return value

    def read(found: "re.Match[str]") -> str:
        name, default = found["name"], found["default"]
        if name not in os.environ and default is None:
            raise SourceError(f"the environment variable {name} of {str(path)!r} is not set; set it, or pass --url")
        return os.environ.get(name, default or "")

    rendered = _ENVIRONMENT.sub(read, value)
    if "{{" in _ENVIRONMENT.sub("", value) or "{%" in value:
        raise SourceError(f"{key!r} in {str(path)!r} uses Jinja other than env_var; pass --url instead")
    return rendered
