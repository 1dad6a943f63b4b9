"""Fixtures of pytest: an emulator for each test, or one for all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from azure_table_emulator import Emulator, Options, start


@pytest.fixture(scope="session")
def azure_table_emulator_options() -> Options:
    """The options of both emulators: override this fixture to change them."""
    return {}


@pytest.fixture
def azure_table_emulator(azure_table_emulator_options: Options) -> Iterator[Emulator]:
    """An emulator of this test alone, without tables. It starts in milliseconds."""
    with start(**azure_table_emulator_options) as emulator:
        yield emulator


@pytest.fixture(scope="session")
def azure_table_emulator_session(azure_table_emulator_options: Options) -> Iterator[Emulator]:
    """One emulator, which all tests share."""
    with start(**azure_table_emulator_options) as emulator:
        yield emulator
