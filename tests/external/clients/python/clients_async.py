"""The asynchronous clients of the suite."""

import unittest

from azure.core.exceptions import HttpResponseError
from azure.data.tables.aio import TableServiceClient

from clients import CONNECTION_STRING, ENDPOINT, OPTIONS, Token, code_of, credential, fresh_name


class AsyncToken(Token):
    """The same token for asynchronous clients, as those of azure.identity.aio."""

    async def get_token(self, *scopes, **options):
        return super().get_token(*scopes, **options)

    async def close(self):
        pass


def async_credential():
    """The credential of this run. Keys and signatures are those of the synchronous client."""
    found = credential()
    return AsyncToken() if isinstance(found, Token) else found


async def collect(iterator):
    return [item async for item in iterator]


async def collect_pages(pages):
    return [[item async for item in page] async for page in pages]


class AsyncCase(unittest.IsolatedAsyncioTestCase):
    """A test with an asynchronous client of the service by the credential of this run, and a table of its own."""

    async def asyncSetUp(self):
        self.service = TableServiceClient(ENDPOINT, credential=async_credential(), **OPTIONS)
        self.addAsyncCleanup(self.service.close)
        self.name = fresh_name()
        self.table = await self.service.create_table(self.name)
        self.addAsyncCleanup(self.service.delete_table, self.name)

    async def assert_rejected(self, status, code, call):
        """The awaitable fails with this status and this code of the service."""
        with self.assertRaises(HttpResponseError) as caught:
            await call
        error = caught.exception
        self.assertEqual((error.status_code, code_of(error)), (status, code), str(error))
        return error

    def with_key(self):
        """A client with the account's key, whatever the credential of this run is."""
        service = TableServiceClient.from_connection_string(CONNECTION_STRING, **OPTIONS)
        self.addAsyncCleanup(service.close)
        return service
