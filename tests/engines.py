"""Real engines for tests: PostgreSQL, MariaDB and Spark, each started once a session, on first use."""

import atexit
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest
import sqlalchemy as sa

REQUIRED = "PRIVACY_PLUGIN_REQUIRE_ENGINES"


def unavailable(reason: str) -> NoReturn:
    """Skip with the reason, or fail where the environment says that all engines must be there."""
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{reason} ({REQUIRED}=1)")
    pytest.skip(reason)


def postgresql_database() -> sa.Engine:
    """Return an engine on a new, empty database of the session's PostgreSQL server."""
    port = _postgresql_server()
    if isinstance(port, str):
        unavailable(port)
    name = f"test_{secrets.token_hex(6)}"
    administration = sa.create_engine(_postgresql_url(port, "postgres"), isolation_level="AUTOCOMMIT")
    with administration.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
    administration.dispose()
    return sa.create_engine(_postgresql_url(port, name))


def mariadb_database() -> sa.Engine:
    """Return an engine on a new, empty database of the session's MariaDB server."""
    port = _mariadb_server()
    if isinstance(port, str):
        unavailable(port)
    name = f"test_{secrets.token_hex(6)}"
    administration = sa.create_engine(f"mariadb+pymysql://root@127.0.0.1:{port}/")
    with administration.begin() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")  # latin1_swedish_ci, which ignores case and accents
    administration.dispose()
    return sa.create_engine(f"mariadb+pymysql://root@127.0.0.1:{port}/{name}")


def spark_session() -> Any:
    """Return the session's local Spark."""
    session = _spark()
    if isinstance(session, str):
        unavailable(session)
    return session


def _postgresql_url(port: int, database: str) -> str:
    return f"postgresql+psycopg://tester@127.0.0.1:{port}/{database}"


@cache
def _postgresql_server() -> int | str:
    """Start a server on a free port of the loopback interface; return the port, or why there is none."""
    programs = _postgresql_programs()
    if programs is None:
        return "PostgreSQL's initdb and pg_ctl are not installed (Debian: apt install postgresql)"
    user = _unprivileged_user()
    folder = Path(tempfile.mkdtemp(prefix="privacy-plugin-postgresql-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if user is not None:
        shutil.chown(folder, user=user)
    data, port = folder / "data", _free_port()
    _run(
        [programs / "initdb", "-D", data, "-U", "tester", "--auth=trust", "-E", "UTF8", "--locale=C", "-N"],
        user,
        folder,
    )
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    _run([programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start"], user, folder)
    atexit.register(_run, [programs / "pg_ctl", "-D", data, "-m", "immediate", "stop"], user, folder)
    return port


def _postgresql_programs() -> Path | None:
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    return None


@cache
def _mariadb_server() -> int | str:
    """Start a server on a free port of the loopback interface; return the port, or why there is none."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin"])
    programs = [shutil.which(name, path=path) for name in ("mariadb-install-db", "mariadbd")]
    if None in programs:
        return "mariadbd and mariadb-install-db are not installed (Debian: apt install mariadb-server)"
    installer, server = map(str, programs)
    user = _unprivileged_user("mysql")
    folder = Path(tempfile.mkdtemp(prefix="privacy-plugin-mariadb-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if user is not None:
        shutil.chown(folder, user=user)
    data, port = folder / "data", _free_port()
    # a folder of its own for temporary tables: two servers that start together would share names in /tmp
    place = ["--no-defaults", f"--datadir={data}", f"--tmpdir={folder}"]
    _run([installer, *place, "--skip-test-db", "--auth-root-authentication-method=normal"], user, folder)
    command = [server, *place, f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder / 'socket'}"]
    command += [f"--pid-file={folder / 'pid'}", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0"]
    with open(folder / "output.log", "ab") as output:
        running = subprocess.Popen([*command, f"--log-error={data}.log"], user=user, stdout=output, stderr=output)
    atexit.register(_end, running)
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return port
        if running.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"mariadbd did not start: {Path(f'{data}.log').read_text()}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()


def _unprivileged_user(own: str = "postgres") -> str | None:
    """Servers refuse to run as root: give them a user that exists everywhere."""
    if os.geteuid() != 0:
        return None
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    return own if own in names else "nobody"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _run(command: list[str | Path], user: str | None, folder: Path) -> None:
    with open(folder / "output.log", "ab") as output:  # a pipe would stay open as long as the server runs
        done = subprocess.run(
            [str(part) for part in command], user=user, cwd=folder, stdout=output, stderr=output, check=False
        )
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} failed: {(folder / 'output.log').read_text()}")


@cache
def _spark() -> Any:
    """Start Spark in this process; return the session, or why there is none."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "Java is not installed (Debian: apt install openjdk-17-jre-headless)"
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return "pyspark is not installed (pip install 'privacy-plugin[spark]')"
    folder = tempfile.mkdtemp(prefix="privacy-plugin-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        # A test's Java code runs a few times: compiling it thoroughly would cost more than all the tests' queries.
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # `python3` may be another one
    builder = SparkSession.builder.master("local[1]").appName("privacy-plugin tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    atexit.register(session.stop)
    return session
