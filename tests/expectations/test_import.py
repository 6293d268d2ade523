"""Importing the door never ends a process quietly: a gate that is not there must not look like one that passed."""

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


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)


def test_a_process_without_a_main_file_imports_the_expectations() -> None:
    done = run("import privacy_plugin.expectations; print('imported')")
    assert (done.returncode, done.stdout) == (0, "imported\n")


def test_an_import_that_would_end_the_process_is_an_error() -> None:
    done = run(ENDING_PYSPARK)
    assert done.returncode == 1
    assert "install privacy-plugin[spark]" in done.stderr
