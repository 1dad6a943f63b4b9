"""Emulates Azure Table storage and the Cosmos DB Table API on a port, for tests.

    with azure_table_emulator.start() as emulator:
        service = TableServiceClient.from_connection_string(emulator.connection_string)

The fixtures of pytest are in `pytest_plugin`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = ["Emulator", "Options", "main", "start"]

_PROGRAM = Path(__file__).with_name("azure-table-emulator.exe" if os.name == "nt" else "azure-table-emulator")
# The program stops when its standard input ends, which a forked process must not hold open.
_INPUTS: weakref.WeakSet[IO[str]] = weakref.WeakSet()


def _close_inputs() -> None:
    for pipe in _INPUTS:
        pipe.close()


if os.name != "nt":
    os.register_at_fork(after_in_child=_close_inputs)


class Options(TypedDict, total=False):
    """The options of the program, which `azure-table-emulator --help` explains."""

    port: int
    """By default any free one."""
    host: str
    account: str | Sequence[str]
    profile: Literal["storage", "cosmos"]
    strict_versions: bool
    timestamp_skew: int
    adverse: int
    data: str | Path
    sync: Literal["always", "interval", "never"]
    snapshot: str | Path
    certificate: str | Path
    key: str | Path
    token_audience: str | Sequence[str]
    control: int
    """0 for any free port."""
    control_host: str
    control_name: str | Sequence[str]
    control_requests: int
    """Number of requests that its log keeps."""
    control_token: str
    max_connections: int
    max_bodies: int
    timeout: int
    program: str | Path
    """Path of another program than the one in this package."""


class Emulator:
    """A running emulator. It also stops when this process ends, however it ends."""

    connection_string: str
    """Connection string of the account `devstoreaccount1`.

    It never contains a key that the option `account` set: its `AccountKey` is then the text `<the key you gave>`.
    """
    url: str
    """URL of that account."""
    port: int
    control: str | None
    """URL of the control API, with the option `control`."""

    def __init__(self, process: subprocess.Popen[str], errors: IO[str]) -> None:
        self._process = process
        self._errors = errors
        assert process.stdin is not None and process.stdout is not None
        _INPUTS.add(process.stdin)
        line = process.stdout.readline()
        if not line:
            process.wait()
            raise RuntimeError(f"azure-table-emulator did not start: {self._reason()}")
        ready = json.loads(line)
        accounts = {account["name"]: account["connectionString"] for account in ready["accounts"]}
        self.connection_string = accounts["devstoreaccount1"]
        self.url = re.findall("TableEndpoint=([^;]*[^;/])", self.connection_string)[0]
        self.port = ready["port"]
        self.control = ready.get("control")

    def _reason(self) -> str:
        self._errors.seek(0)
        reason = re.search("^error: (.*)", self._errors.read(), re.MULTILINE | re.DOTALL)
        return reason[1].strip() if reason else f"it ended with {self._process.returncode}"

    def stop(self) -> None:
        """Stops the program and waits for its end.

        Raises RuntimeError if it ended with an error, for example if its tables could not be stored, or was killed. A
        program that SIGTERM stopped before is no error. Only the process that started the program may stop it.
        """
        if self._errors.closed:
            return
        with self._errors:
            self._process.communicate()
            if self._process.returncode != 0:
                raise RuntimeError(f"azure-table-emulator: {self._reason()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _arguments(options: Mapping[str, object]) -> list[str]:
    """Returns `--strict-versions --port=0` for `strict_versions=True, port=0`."""
    arguments = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif value is not False and value is not None:
            values = value if isinstance(value, (list, tuple)) else [value]
            arguments += [f"{option}={value}" for value in values]
    return arguments


def start(**options: Unpack[Options]) -> Emulator:
    """Starts an emulator, and waits until it listens. Raises RuntimeError with the reason if it cannot."""
    program = options.pop("program", None) or _PROGRAM
    own = {"ready_json": True, "quiet": True, "stop_on_eof": True}
    process = subprocess.Popen(
        [program, *_arguments({**options, "port": options.get("port") or 0, **own})],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=(errors := tempfile.TemporaryFile("w+", encoding="utf-8")),
        text=True,
    )
    return Emulator(process, errors)


def main() -> None:
    """Runs the program: the options, the output, the signals and the exit code are its own."""
    command = [str(_PROGRAM), *sys.argv[1:]]
    if os.name != "nt":
        os.execv(command[0], command)
    # Ctrl-C reaches the program by itself.
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            try:
                process.wait()
            except KeyboardInterrupt:
                continue
    sys.exit(process.returncode)
