"""The asynchronous client: tables, properties, access."""

import unittest
from datetime import datetime, timedelta, timezone
from urllib.parse import urlsplit

from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.data.tables import TableAccessPolicy, TableMetrics, TableRetentionPolicy, generate_table_sas
from azure.data.tables.aio import TableClient, TableServiceClient

from clients import (
    COSMOS,
    CREDENTIAL,
    ENDPOINT,
    ENDPOINT_WITHOUT_ACCOUNT,
    KEY,
    OPTIONS,
    SETTINGS,
    account_sas,
    fresh_name,
    in_an_hour,
)
from clients_async import AsyncCase, AsyncToken, async_credential, collect, collect_pages


class AsyncTables(AsyncCase):
    async def names(self):
        return [table.name async for table in self.service.list_tables()]

    async def test_table_is_created_once_and_listed(self):
        self.assertIn(self.name, await self.names())
        await self.assert_rejected(409, "TableAlreadyExists", self.service.create_table(self.name))
        again = await self.service.create_table_if_not_exists(self.name)
        self.assertEqual(again.table_name, self.name)

    async def test_table_client_creates_and_deletes_its_table(self):
        async with TableClient(ENDPOINT, fresh_name(), credential=async_credential(), **OPTIONS) as table:
            self.assertEqual((await table.create_table()).name, table.table_name)
            await table.delete_table()
            self.assertNotIn(table.table_name, await self.names())
            code = "ResourceNotFound" if COSMOS else "TableNotFound"
            await self.assert_rejected(404, code, table.create_entity({"PartitionKey": "p", "RowKey": "r"}))
            await self.assert_rejected(404, code, collect(table.list_entities()))

    async def test_tables_are_queried_by_name(self):
        found = self.service.query_tables("TableName eq @name", parameters={"name": self.name})
        self.assertEqual([table.name async for table in found], [self.name])

    async def test_tables_are_listed_page_by_page(self):
        names = {self.name}
        for _ in range(4):
            names.add((await self.service.create_table(fresh_name())).table_name)
        pages = await collect_pages(self.service.list_tables(results_per_page=2).by_page())
        self.assertTrue(all(len(page) <= 2 for page in pages), pages)
        listed = [table.name for page in pages for table in page]
        self.assertTrue(names <= set(listed))
        self.assertEqual(len(listed), len(set(listed)))
        for name in names - {self.name}:
            await self.service.delete_table(name)


class AsyncService(AsyncCase):
    @unittest.skipIf(COSMOS, "Cosmos DB has no service properties")
    async def test_properties_are_set_and_read(self):
        service = self.with_key()
        retention = TableRetentionPolicy(enabled=True, days=7)
        await service.set_service_properties(minute_metrics=TableMetrics(enabled=True, retention_policy=retention))
        minutes = (await service.get_service_properties())["minute_metrics"]
        self.assertEqual((minutes.enabled, minutes.retention_policy.days), (True, 7))

    @unittest.skipIf(COSMOS, "Cosmos DB has no statistics")
    async def test_statistics_come_from_the_secondary(self):
        # As of the synchronous client.
        secondary = f"{urlsplit(ENDPOINT).netloc}/{SETTINGS['AccountName']}-secondary"
        options = OPTIONS | {"credential": AzureSasCredential(account_sas()), "secondary_hostname": secondary}
        async with TableServiceClient(ENDPOINT_WITHOUT_ACCOUNT, **options) as service:
            self.assertEqual((await service.get_service_stats())["geo_replication"]["status"], "live")

    @unittest.skipUnless(COSMOS, "Storage has service properties")
    async def test_properties_are_rejected(self):
        await self.assert_rejected(405, "MethodNotAllowed", self.with_key().get_service_properties())


class AsyncAccess(AsyncCase):
    def by_sas(self, **options):
        sas = generate_table_sas(KEY, self.name, **options)
        client = TableClient(ENDPOINT, self.name, credential=AzureSasCredential(sas), **OPTIONS)
        self.addAsyncCleanup(client.close)
        return client

    async def test_signature_allows_its_permissions(self):
        entity = {"PartitionKey": "p", "RowKey": "r"}
        writer = self.by_sas(permission="au", expiry=in_an_hour())
        await writer.upsert_entity(entity)
        code = "Forbidden" if COSMOS else "AuthorizationPermissionMismatch"
        await self.assert_rejected(403, code, writer.get_entity("p", "r"))
        reader = self.by_sas(permission="r", expiry=in_an_hour())
        self.assertEqual([dict(row) async for row in reader.list_entities()], [entity])

    @unittest.skipIf(COSMOS, "Cosmos DB has no stored access policies")
    async def test_policy_grants_and_revokes_access(self):
        table = self.with_key().get_table_client(self.name)
        start = datetime.now(timezone.utc) - timedelta(minutes=5)
        policy = TableAccessPolicy(start=start, expiry=in_an_hour(), permission="r")
        await table.set_table_access_policy({"readers": policy})
        self.assertEqual((await table.get_table_access_policy())["readers"].permission, "r")
        reader = self.by_sas(policy_id="readers")
        self.assertEqual(await collect(reader.list_entities()), [])
        await table.set_table_access_policy({})
        await self.assert_rejected(403, "AuthenticationFailed", collect(reader.list_entities()))

    async def test_wrong_key_is_rejected(self):
        wrong = AzureNamedKeyCredential(KEY.named_key.name, "AAAA" + KEY.named_key.key[4:])
        async with TableServiceClient(ENDPOINT, credential=wrong, **OPTIONS) as service:
            code = "Forbidden" if COSMOS else "AuthenticationFailed"
            await self.assert_rejected(403, code, collect(service.list_tables()))

    @unittest.skipUnless(CREDENTIAL == "token", "this run has no token")
    async def test_token_is_requested_for_the_service(self):
        token = AsyncToken()
        async with TableServiceClient(ENDPOINT, credential=token, **OPTIONS) as service:
            self.assertIn(self.name, [table.name async for table in service.list_tables()])
        self.assertEqual(token.scopes, [f"https://{'cosmos' if COSMOS else 'storage'}.azure.com/.default"])
