"""Credentials, and the service that the client takes the endpoint for."""

import unittest

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.data.tables import TableClient, TableServiceClient, generate_table_sas

from clients import (
    CONNECTION_STRING,
    COSMOS,
    CREDENTIAL,
    ENDPOINT,
    ENDPOINT_WITHOUT_ACCOUNT,
    KEY,
    OPTIONS,
    Case,
    Token,
    account_sas,
    in_an_hour,
)


class Credentials(Case):
    def test_connection_string_has_the_key(self):
        with TableServiceClient.from_connection_string(CONNECTION_STRING, **OPTIONS) as service:
            self.assertIn(self.name, [table.name for table in service.list_tables()])

    def test_wrong_key_is_rejected(self):
        wrong = AzureNamedKeyCredential(KEY.named_key.name, "AAAA" + KEY.named_key.key[4:])
        with TableServiceClient(ENDPOINT, credential=wrong, **OPTIONS) as service:
            code = "Forbidden" if COSMOS else "AuthenticationFailed"
            self.assert_rejected(403, code, lambda: list(service.list_tables()))

    def test_changed_key_is_used(self):
        key = AzureNamedKeyCredential(KEY.named_key.name, "AAAA" + KEY.named_key.key[4:])
        with TableServiceClient(ENDPOINT, credential=key, **OPTIONS) as service:
            key.update(KEY.named_key.name, KEY.named_key.key)
            self.assertIn(self.name, [table.name for table in service.list_tables()])

    def test_url_may_have_a_signature(self):
        with TableServiceClient(f"{ENDPOINT}?{account_sas()}", **OPTIONS) as service:
            self.assertIn(self.name, [table.name for table in service.list_tables()])

    def test_endpoint_may_omit_the_account(self):
        with TableServiceClient(ENDPOINT_WITHOUT_ACCOUNT, credential=KEY, **OPTIONS) as service:
            self.assertIn(self.name, [table.name for table in service.list_tables()])
            table = service.get_table_client(self.name)
            table.submit_transaction([("create", {"PartitionKey": "p", "RowKey": row}) for row in "ab"])
            table.upsert_entity({"PartitionKey": "p", "RowKey": "a", "A": 1})
        sas = AzureSasCredential(generate_table_sas(KEY, self.name, permission="r", expiry=in_an_hour()))
        with TableClient(ENDPOINT_WITHOUT_ACCOUNT, self.name, credential=sas, **OPTIONS) as reader:
            self.assertEqual([row["RowKey"] for row in reader.query_entities("A eq 1")], ["a"])

    def test_merges_are_tunnelled_to_cosmos_alone(self):
        sent = []
        self.table.upsert_entity(
            {"PartitionKey": "p", "RowKey": "r"}, raw_request_hook=lambda request: sent.append(request.http_request)
        )
        self.assertEqual([request.method for request in sent], ["POST" if COSMOS else "PATCH"])


@unittest.skipUnless(CREDENTIAL == "token", "this run has no token")
class Tokens(Case):
    def test_token_is_requested_for_the_service(self):
        token = Token()
        with TableServiceClient(ENDPOINT, credential=token, **OPTIONS) as service:
            self.assertIn(self.name, [table.name for table in service.list_tables()])
        self.assertEqual(token.scopes, [f"https://{'cosmos' if COSMOS else 'storage'}.azure.com/.default"])

    def test_token_needs_https(self):
        with self.assertRaises(ValueError):
            TableServiceClient(ENDPOINT.replace("https:", "http:"), credential=Token(), **OPTIONS)
