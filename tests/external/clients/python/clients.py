"""The clients of the suite, as the environment describes them: `tests/external/clients/run --help` explains it."""

import faulthandler
import json
import os
import time
import unittest
import uuid
from datetime import datetime, timedelta, timezone

from azure.core.credentials import AccessToken, AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import ResourceTypes, TableServiceClient, generate_account_sas

CONNECTION_STRING = os.environ["AZURE_TABLE_TEST_CLIENTS"]
COSMOS = os.environ["AZURE_TABLE_TEST_PROFILE"] == "cosmos"
CREDENTIAL = os.environ["AZURE_TABLE_TEST_CREDENTIAL"]
SETTINGS = dict(part.split("=", 1) for part in CONNECTION_STRING.split(";") if part)
ENDPOINT = SETTINGS["TableEndpoint"]
# As live endpoints and those of Cosmos DB's own emulator are. A key or a signature tells the account.
ENDPOINT_WITHOUT_ACCOUNT = ENDPOINT.removesuffix(SETTINGS["AccountName"])
KEY = AzureNamedKeyCredential(SETTINGS["AccountName"], SETTINGS["AccountKey"])
OPTIONS = {"retry_total": 0}
if "AZURE_TABLE_TEST_CERTIFICATE" in os.environ:
    OPTIONS["connection_verify"] = os.environ["AZURE_TABLE_TEST_CERTIFICATE"]

# A suite takes seconds. After the limit it ends, and prints its stacks.
faulthandler.dump_traceback_later(300, exit=True)


class Token:
    """A credential with one token, in place of those of azure-identity."""

    def __init__(self):
        self.scopes = []

    def get_token(self, *scopes, **_):
        self.scopes.extend(scopes)
        return AccessToken(os.environ["AZURE_TABLE_TEST_TOKEN"], int(time.time()) + 3_600)


def in_an_hour():
    return datetime.now(timezone.utc) + timedelta(hours=1)


def account_sas():
    return generate_account_sas(KEY, ResourceTypes(service=True, container=True, object=True), "rwdlacu", in_an_hour())


def credential():
    """The credential of this run."""
    return {"key": lambda: KEY, "sas": lambda: AzureSasCredential(account_sas()), "token": Token}[CREDENTIAL]()


def fresh_name():
    return "p" + uuid.uuid4().hex


def code_of(error):
    """The service's code. The client does not parse it from every response, such as that of create_entity."""
    found = getattr(error, "error_code", None)
    if found is None:
        found = json.loads(error.response.text())["odata.error"]["code"]
    return getattr(found, "value", found)


class Case(unittest.TestCase):
    """A test with a client of the service by the credential of this run, and a table of its own."""

    def setUp(self):
        self.service = TableServiceClient(ENDPOINT, credential=credential(), **OPTIONS)
        self.addCleanup(self.service.close)
        self.name = fresh_name()
        self.table = self.service.create_table(self.name)
        self.addCleanup(self.service.delete_table, self.name)

    def insert(self, count, partition="p"):
        for n in range(count):
            self.table.create_entity({"PartitionKey": partition, "RowKey": f"{n:03}", "N": n})

    def rows(self, *arguments, **options):
        return sorted(row["RowKey"] for row in self.table.query_entities(*arguments, **options))

    def assert_rejected(self, status, code, call, *arguments, **options):
        """The call fails with this status and this code of the service."""
        with self.assertRaises(HttpResponseError) as caught:
            call(*arguments, **options)
        error = caught.exception
        self.assertEqual((error.status_code, code_of(error)), (status, code), str(error))
        return error


class WithKey(Case):
    """A test that needs the account's key, whatever the credential of this run is."""

    def setUp(self):
        super().setUp()
        self.service = TableServiceClient.from_connection_string(CONNECTION_STRING, **OPTIONS)
        self.addCleanup(self.service.close)
        self.table = self.service.get_table_client(self.name)
