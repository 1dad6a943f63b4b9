"""Shared code of the suites of the official Python client: the account of the environment, and a new table for each test.

`tests/external/clients/run` sets the environment and starts them.
"""

import faulthandler
import json
import os
import unittest
import uuid

from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableServiceClient

CONNECTION_STRING = os.environ["AZURE_TABLE_TEST_CLIENTS"]

# A suite takes seconds. After the limit it ends, and prints what it waits for.
faulthandler.dump_traceback_later(300, exit=True)


def settings():
    """The parts of the connection string by name."""
    return dict(part.split("=", 1) for part in CONNECTION_STRING.split(";") if part)


class Smoke(unittest.TestCase):
    """A test with a service and its own table."""

    def setUp(self):
        self.service = TableServiceClient.from_connection_string(CONNECTION_STRING, retry_total=0)
        self.addCleanup(self.service.close)
        self.name = self.fresh_name()
        self.table = self.service.create_table(self.name)
        self.addCleanup(self.delete, self.name)

    def fresh_name(self):
        return "p" + uuid.uuid4().hex

    def delete(self, name):
        self.service.delete_table(name)

    def insert(self, count, partition="p"):
        for n in range(count):
            self.table.create_entity({"PartitionKey": partition, "RowKey": f"{n:03}", "N": n})

    def rows(self, *arguments, **options):
        return [row["RowKey"] for row in self.table.query_entities(*arguments, **options)]

    def assert_refused(self, status, code, call, *arguments, **options):
        """The call fails with this status and this code of the service."""
        with self.assertRaises(HttpResponseError) as caught:
            call(*arguments, **options)
        error = caught.exception
        self.assertEqual((error.status_code, code_of(error)), (status, code), str(error))
        return error


def code_of(error):
    """The service's code. The client does not parse it from every response, such as that of create_entity."""
    found = getattr(error, "error_code", None)
    if found is None:
        found = json.loads(error.response.text())["odata.error"]["code"]
    return getattr(found, "value", found)
