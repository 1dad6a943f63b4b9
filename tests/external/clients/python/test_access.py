"""Shared access signatures and stored access policies."""

import unittest
from datetime import datetime, timedelta, timezone

from azure.core.credentials import AzureSasCredential
from azure.core.exceptions import HttpResponseError
from azure.data.tables import (
    AccountSasPermissions,
    ResourceTypes,
    TableAccessPolicy,
    TableClient,
    TableSasPermissions,
    TableServiceClient,
    generate_account_sas,
    generate_table_sas,
)

from clients import COSMOS, ENDPOINT, KEY, OPTIONS, WithKey, fresh_name, in_an_hour

NOT_PERMITTED = "Forbidden" if COSMOS else "AuthorizationPermissionMismatch"


def by_sas(sas, name):
    return TableClient(ENDPOINT, name, credential=AzureSasCredential(sas), **OPTIONS)


class Signatures(WithKey):
    def setUp(self):
        super().setUp()
        self.insert(2)

    def client(self, **options):
        return by_sas(generate_table_sas(KEY, self.name, **({"expiry": in_an_hour()} | options)), self.name)

    def test_signature_allows_its_permissions(self):
        reader = self.client(permission=TableSasPermissions(read=True))
        self.assertEqual(len(list(reader.list_entities())), 2)
        entity = {"PartitionKey": "p", "RowKey": "new"}
        self.assert_rejected(403, NOT_PERMITTED, reader.create_entity, entity)
        writer = self.client(permission="au")
        writer.upsert_entity(entity)
        self.assert_rejected(403, NOT_PERMITTED, lambda: list(writer.list_entities()))
        self.assert_rejected(403, NOT_PERMITTED, writer.delete_entity, entity)

    def test_key_range_limits_the_rows_on_storage_alone(self):
        one = self.client(permission="r", start_pk="p", end_pk="p", start_rk="001", end_rk="001")
        if COSMOS:
            self.assert_rejected(405, "MethodNotAllowed", lambda: list(one.list_entities()))
        else:
            self.assertEqual([row["RowKey"] for row in one.list_entities()], ["001"])
            self.assert_rejected(404, "ResourceNotFound", one.get_entity, "p", "000")

    def test_expired_or_other_signatures_are_rejected(self):
        expired = self.client(permission="r", expiry=datetime.now(timezone.utc) - timedelta(minutes=1))
        other = self.service.create_table(fresh_name())
        self.addCleanup(self.service.delete_table, other.table_name)
        of_another = by_sas(generate_table_sas(KEY, self.name, permission="r", expiry=in_an_hour()), other.table_name)
        for client in (expired, of_another):
            with self.assertRaises(HttpResponseError) as caught:
                list(client.list_entities())
            self.assertEqual(caught.exception.status_code, 403)

    def test_signature_allows_transactions(self):
        client = self.client(permission="raud")
        client.submit_transaction([("delete", {"PartitionKey": "p", "RowKey": "000"}),
                                   ("create", {"PartitionKey": "p", "RowKey": "002"})])
        self.assertEqual([row["RowKey"] for row in client.list_entities()], ["001", "002"])

    def test_account_signature_allows_its_permissions(self):
        sas = generate_account_sas(
            KEY,
            resource_types=ResourceTypes(service=True, object=True),
            permission=AccountSasPermissions(read=True, list=True),
            expiry=in_an_hour(),
        )
        service = TableServiceClient(ENDPOINT, credential=AzureSasCredential(sas), **OPTIONS)
        self.assertEqual(len(list(service.get_table_client(self.name).list_entities())), 2)
        with self.assertRaises(HttpResponseError) as caught:
            service.create_table(fresh_name())
        self.assertEqual(caught.exception.status_code, 403)

    def test_connection_string_may_have_a_signature(self):
        sas = generate_table_sas(KEY, self.name, permission="r", expiry=in_an_hour())
        connection = f"TableEndpoint={ENDPOINT};SharedAccessSignature={sas}"
        client = TableClient.from_connection_string(connection, self.name, **OPTIONS)
        self.assertEqual(len(list(client.list_entities())), 2)

    def test_table_url_may_have_a_signature(self):
        sas = generate_table_sas(KEY, self.name, permission="r", expiry=in_an_hour())
        client = TableClient.from_table_url(f"{ENDPOINT}/{self.name}", credential=AzureSasCredential(sas), **OPTIONS)
        self.assertEqual(len(list(client.list_entities())), 2)


@unittest.skipIf(COSMOS, "Cosmos DB has no stored access policies")
class Policies(WithKey):
    def test_policies_are_set_and_read(self):
        self.assertEqual(self.table.get_table_access_policy(), {})
        start, expiry = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc), in_an_hour()
        self.table.set_table_access_policy(
            {"read": TableAccessPolicy(start=start, expiry=expiry, permission="r"), "empty": None}
        )
        policies = self.table.get_table_access_policy()
        self.assertEqual(sorted(policies), ["empty", "read"])
        self.assertIsNone(policies["empty"])
        self.assertEqual((policies["read"].start, policies["read"].permission), (start, "r"))

    def test_policy_grants_and_revokes_access(self):
        self.insert(2)
        client = by_sas(generate_table_sas(KEY, self.name, policy_id="readers"), self.name)
        self.assert_rejected(403, "AuthenticationFailed", lambda: list(client.list_entities()))
        start = datetime.now(timezone.utc) - timedelta(minutes=5)
        policy = TableAccessPolicy(start=start, expiry=in_an_hour(), permission="r")
        self.table.set_table_access_policy({"readers": policy})
        self.assertEqual(len(list(client.list_entities())), 2)
        self.table.set_table_access_policy({})
        self.assert_rejected(403, "AuthenticationFailed", lambda: list(client.list_entities()))

    def test_six_policies_are_too_many(self):
        policies = {str(n): TableAccessPolicy(permission="r", expiry=in_an_hour()) for n in range(6)}
        with self.assertRaises(ValueError):
            self.table.set_table_access_policy(policies)


@unittest.skipUnless(COSMOS, "Storage has stored access policies")
class NoPolicies(WithKey):
    def test_policies_are_rejected(self):
        self.assert_rejected(405, "MethodNotAllowed", self.table.get_table_access_policy)
        self.assert_rejected(405, "MethodNotAllowed", self.table.set_table_access_policy, {})
