"""Importing the expectations never exits a process silently: a missing gate must not look like a passed one."""

import subprocess
import sys
import textwrap

ENDING_PYSPARK = """
    import sys, types

    class Ending:
        def find_spec(self, name, path=None, target=None):
            if name == "pyspark.sql.connect":
                sys.exit(0)

    sys.meta_path.insert(0, Ending())
    import privacy_plugin.expectations
"""


def test_an_import_that_would_exit_raises_an_import_error() -> None:
    """test_suite.py checks the import with a complete pyspark, in a process without a main file."""
    command = [sys.executable, "-c", textwrap.dedent(ENDING_PYSPARK)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "privacy-plugin[spark]" in done.stderr
