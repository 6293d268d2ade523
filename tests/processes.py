"""Python in other processes, which may be killed."""

import subprocess
import sys
import textwrap


def started(script: str, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process: "subprocess.Popen[str]", words: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == f"{words}\n"
