"""The wheel in an empty environment: its program, its module, its fixtures, and how each ends.

tests/external/package/run installs it.
"""

import multiprocessing
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import azure_table_emulator as package
import pytest
from azure.data.tables import TableServiceClient
from azure_table_emulator import Emulator, Options, start

PROGRAM = str(Path(sys.executable).with_name("azure-table-emulator"))


@pytest.fixture(scope="session")
def azure_table_emulator_options() -> Options:
    return {"control": 0, "strict_versions": True, "account": ["a:c2VjcmV0", "b:c2VjcmV0"]}


def wait_until_closed(port: int) -> None:
    deadline = time.monotonic() + 10
    while socket.socket().connect_ex(("127.0.0.1", port)) == 0:
        assert time.monotonic() < deadline, "it still listens"
        time.sleep(0.02)


@pytest.mark.parametrize("n", [1, 2])
def test_each_test_has_its_own_tables(azure_table_emulator: Emulator, n: int) -> None:
    assert azure_table_emulator.url == f"http://127.0.0.1:{azure_table_emulator.port}/devstoreaccount1"
    with TableServiceClient.from_connection_string(azure_table_emulator.connection_string) as service:
        service.create_table("Products").create_entity({"PartitionKey": "S1", "RowKey": "7"})


def test_tests_share_the_emulator_of_the_session(
    azure_table_emulator_session: Emulator, azure_table_emulator: Emulator
) -> None:
    assert azure_table_emulator_session.port != azure_table_emulator.port
    assert (azure_table_emulator_session.control or "").startswith("http://127.0.0.1:")


def test_start_that_fails_says_why() -> None:
    with start() as emulator:
        with pytest.raises(RuntimeError, match=r"did not start: port \d+ is in use"):
            start(port=emulator.port)
    with pytest.raises(RuntimeError, match="did not start: unexpected argument '--prot'"):
        start(prot=1)  # type: ignore[call-arg]
    emulator.stop()
    wait_until_closed(emulator.port)


def test_snapshot_that_could_not_be_written_fails_the_stop(tmp_path: Path) -> None:
    snapshot = tmp_path / "tables.json"
    emulator = start(snapshot=snapshot)
    snapshot.unlink()
    snapshot.mkdir()
    with pytest.raises(RuntimeError, match="tables.json.* could not be written"):
        emulator.stop()


def test_absent_option_may_be_none() -> None:
    with start(port=None, program=None) as emulator:  # type: ignore[arg-type]
        assert emulator.port != 10002


def test_account_stays_the_same_with_a_key_of_its_own() -> None:
    with start(account=["a:c2VjcmV0", "devstoreaccount1:c2VjcmV0"]) as emulator:
        assert "AccountName=devstoreaccount1;AccountKey=<the key you gave>;" in emulator.connection_string
        assert emulator.url.endswith("/devstoreaccount1")


def test_stop_after_sigterm_is_no_error_and_one_after_a_kill_is() -> None:
    with start() as emulator:
        emulator._process.terminate()
        wait_until_closed(emulator.port)
    emulator = start()
    emulator._process.kill()
    with pytest.raises(RuntimeError, match="it ended with -9"):
        emulator.stop()


def test_forked_process_does_not_keep_it_running() -> None:
    emulator = start()
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(999,))
    child.start()
    emulator.stop()
    assert child.is_alive()
    child.kill()
    child.join()


def test_killed_process_leaves_no_emulator() -> None:
    code = "import azure_table_emulator, time; print(azure_table_emulator.start().port, flush=True); time.sleep(999)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        process.kill()
    wait_until_closed(port)


def test_console_script_is_the_program() -> None:
    for command in [[PROGRAM], [sys.executable, "-m", "azure_table_emulator"]]:
        version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert version.stdout.startswith("azure-table-emulator ")
        assert subprocess.run([*command, "--prot"], capture_output=True).returncode == 2
    with subprocess.Popen([PROGRAM, "--port=0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read().endswith("stopped\n")
    assert process.returncode == 0


def test_types_name_the_options_of_the_program() -> None:
    text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    options = {name.replace("-", "_") for name in re.findall(r"^ {2,6}(?:-\w, +)?--([a-z-]+)", text, re.MULTILINE)}
    own = {"help", "quiet", "ready_json", "stop_on_eof", "version"}
    assert set(package.Options.__annotations__) == options - own | {"program"}
