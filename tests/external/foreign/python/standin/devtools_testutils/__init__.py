"""The parts of the SDK's test tools that the tests of azure-data-tables need against an emulator.

The tests run as they do on a live account, whose hosts lead to the emulators (`hosts.py`).
"""

import inspect
import os
import sys
import time
import types
import zlib

import hosts  # noqa: F401
import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError

TOKEN = os.environ["AZURE_TABLE_FOREIGN_TOKEN"]


class Credential:
    """A token that the emulator accepts, as azure.identity.DefaultAzureCredential has one of the user."""

    def __init__(self, **excluded):
        self.is_usable = not any(excluded.values())

    def _token(self):
        if not self.is_usable:
            raise ClientAuthenticationError("all sources of tokens are excluded")
        return AccessToken(TOKEN, int(time.time()) + 3600)

    def get_token(self, *scopes, **options):
        return self._token()


class AsyncCredential(Credential):
    async def get_token(self, *scopes, **options):
        return self._token()


def get_credential(is_async=False, **options):
    return AsyncCredential() if is_async else Credential()


for name, credential in (("azure.identity", Credential), ("azure.identity.aio", AsyncCredential)):
    module = types.ModuleType(name)
    module.DefaultAzureCredential = credential
    sys.modules[name] = module


def is_live():
    return True


class AzureRecordedTestCase:
    is_live = True

    def get_resource_name(self, prefix):
        """A name that differs from test to test."""
        test = os.environ["PYTEST_CURRENT_TEST"].rsplit(" (", 1)[0]
        return f"{prefix}{zlib.crc32(test.encode()):08x}"

    create_random_name = get_resource_name

    def generate_sas(self, generate, *arguments, **options):
        return generate(*arguments, **options)

    def sleep(self, seconds):
        pass


def PowerShellPreparer(_directory, **values):
    """Passes accounts and keys from the environment, as it does for a live account."""
    values = {name: os.environ.get(name.upper(), value) for name, value in values.items()}

    def decorate(test):
        def sync(self, **given):
            return test(self, **values, **given)

        async def coroutine(self, **given):
            return await test(self, **values, **given)

        return coroutine if inspect.iscoroutinefunction(test) else sync

    return decorate


def recorded_by_proxy(test):
    return test


class ResponseCallback:
    """Changes the status of responses before the client receives them."""

    def __init__(self, status=None, new_status=None):
        self.status, self.new_status = status, new_status
        self.first = True
        self.count = 0

    def override_status(self, response):
        if response.http_response.status_code == self.status:
            response.http_response.status_code = self.new_status
        self.count += 1

    def override_first_status(self, response):
        if self.first and response.http_response.status_code == self.status:
            response.http_response.status_code = self.new_status
            self.first = False
        self.count += 1


@pytest.fixture(scope="session")
def test_proxy():
    pass


def _nothing_to_clean(*arguments, **options):
    pass


add_general_regex_sanitizer = add_body_key_sanitizer = add_oauth_response_sanitizer = _nothing_to_clean
remove_batch_sanitizers = set_custom_default_matcher = _nothing_to_clean
