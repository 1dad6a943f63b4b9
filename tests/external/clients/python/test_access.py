"""Shared access signatures and stored access policies."""

from datetime import datetime, timedelta, timezone

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
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

from smoke import CONNECTION_STRING, Smoke, settings


class Access(Smoke):
    def setUp(self):
        super().setUp()
        self.account = settings()["AccountName"]
        self.endpoint = settings()["TableEndpoint"]
        self.key = AzureNamedKeyCredential(self.account, settings()["AccountKey"])
        self.now = datetime.now(timezone.utc)
        self.insert(2)

    def with_sas(self, **options):
        options = {"expiry": self.now + timedelta(hours=1)} | options
        sas = generate_table_sas(self.key, self.name, **options)
        return TableClient(self.endpoint, self.name, credential=AzureSasCredential(sas), retry_total=0)

    def test_a_signature_allows_what_it_says(self):
        reader = self.with_sas(permission=TableSasPermissions(read=True))
        self.assertEqual(len(list(reader.list_entities())), 2)
        entity = {"PartitionKey": "p", "RowKey": "new"}
        self.assert_refused(403, "AuthorizationPermissionMismatch", reader.create_entity, entity)
        writer = self.with_sas(permission="au")
        writer.upsert_entity(entity)
        self.assert_refused(403, "AuthorizationPermissionMismatch", lambda: list(writer.list_entities()))

    def test_an_endpoint_without_the_account_takes_keys_and_signatures(self):
        endpoint = self.endpoint.removesuffix("/").removesuffix(f"/{self.account}")
        with TableClient(endpoint, self.name, credential=self.key, retry_total=0) as client:
            client.upsert_entity({"PartitionKey": "p", "RowKey": "new"})
            self.assertEqual(len(list(client.list_entities())), 3)
        sas = generate_table_sas(self.key, self.name, permission="raud", expiry=self.now + timedelta(hours=1))
        with TableClient(endpoint, self.name, credential=AzureSasCredential(sas), retry_total=0) as client:
            client.submit_transaction([("delete", {"PartitionKey": "p", "RowKey": "new"})])
            self.assertEqual(len(list(client.list_entities())), 2)

    def test_a_signature_ends_with_its_keys(self):
        one = self.with_sas(permission="r", start_pk="p", end_pk="p", start_rk="001", end_rk="001")
        self.assertEqual([row["RowKey"] for row in one.list_entities()], ["001"])

    def test_a_worthless_signature_is_refused(self):
        expired = self.with_sas(permission="r", expiry=self.now - timedelta(minutes=1))
        self.assert_refused(403, "AuthenticationFailed", lambda: list(expired.list_entities()))
        other = self.service.create_table(self.fresh_name())
        self.addCleanup(self.delete, other.table_name)
        sas = generate_table_sas(self.key, self.name, permission="r", expiry=self.now + timedelta(hours=1))
        client = TableClient(self.endpoint, other.table_name, credential=AzureSasCredential(sas), retry_total=0)
        with self.assertRaises(Exception) as caught:
            list(client.list_entities())
        self.assertEqual(caught.exception.status_code, 403)

    def test_a_signature_allows_transactions(self):
        client = self.with_sas(permission="raud")
        client.submit_transaction([("delete", {"PartitionKey": "p", "RowKey": "000"}),
                                   ("create", {"PartitionKey": "p", "RowKey": "002"})])
        self.assertEqual([row["RowKey"] for row in client.list_entities()], ["001", "002"])

    def test_a_signature_of_the_account_allows_what_it_says(self):
        sas = generate_account_sas(
            self.key,
            resource_types=ResourceTypes(service=True, object=True),
            permission=AccountSasPermissions(read=True, list=True),
            expiry=self.now + timedelta(hours=1),
        )
        service = TableServiceClient(self.endpoint, credential=AzureSasCredential(sas), retry_total=0)
        self.assertEqual(len(list(service.get_table_client(self.name).list_entities())), 2)
        error = self.assert_refused(403, "AuthorizationResourceTypeMismatch", service.create_table, self.fresh_name())
        self.assertEqual(error.status_code, 403)

    def test_policies_are_set_and_read(self):
        self.assertEqual(self.table.get_table_access_policy(), {})
        start, expiry = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc), self.now + timedelta(hours=1)
        self.table.set_table_access_policy(
            {"read": TableAccessPolicy(start=start, expiry=expiry, permission="r"), "empty": None}
        )
        policies = self.table.get_table_access_policy()
        self.assertEqual(sorted(policies), ["empty", "read"])
        self.assertIsNone(policies["empty"])
        self.assertEqual((policies["read"].start, policies["read"].permission), (start, "r"))

    def test_a_policy_gives_and_takes_rights(self):
        sas = generate_table_sas(self.key, self.name, policy_id="readers")
        client = TableClient(self.endpoint, self.name, credential=AzureSasCredential(sas), retry_total=0)
        self.assert_refused(403, "AuthenticationFailed", lambda: list(client.list_entities()))
        policy = TableAccessPolicy(start=self.now - timedelta(minutes=5), expiry=self.now + timedelta(hours=1), permission="r")
        self.table.set_table_access_policy({"readers": policy})
        self.assertEqual(len(list(client.list_entities())), 2)
        self.table.set_table_access_policy({})
        self.assert_refused(403, "AuthenticationFailed", lambda: list(client.list_entities()))

    def test_six_policies_are_too_many(self):
        policies = {str(n): TableAccessPolicy(permission="r", expiry=self.now) for n in range(6)}
        with self.assertRaises(ValueError):
            self.table.set_table_access_policy(policies)

    def test_a_connection_string_may_have_a_signature(self):
        sas = generate_table_sas(self.key, self.name, permission="r", expiry=self.now + timedelta(hours=1))
        connection = f"TableEndpoint={self.endpoint};SharedAccessSignature={sas}"
        self.assertNotIn("AccountKey", connection)
        self.assertIn("AccountKey", CONNECTION_STRING)
        client = TableClient.from_connection_string(connection, self.name, retry_total=0)
        self.assertEqual(len(list(client.list_entities())), 2)
