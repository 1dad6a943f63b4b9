"""The asynchronous client: transactions and injected faults."""

from azure.core import MatchConditions
from azure.data.tables import TableTransactionError, UpdateMode
from azure.data.tables.aio import TableClient

from clients import ENDPOINT, OPTIONS, code_of
from clients_async import AsyncCase, async_credential
from control import hits, inject
from test_transactions import entity


class TransactionCase(AsyncCase):
    async def stored(self):
        return sorted([dict(row) async for row in self.table.list_entities()], key=lambda row: row["RowKey"])


class AsyncTransactions(TransactionCase):
    async def assert_fails(self, index, status, code, operations):
        before = await self.stored()
        with self.assertRaises(TableTransactionError) as caught:
            await self.table.submit_transaction(operations)
        error = caught.exception
        self.assertEqual((error.index, error.status_code, code_of(error)), (index, status, code), str(error))
        self.assertEqual(await self.stored(), before)

    async def test_all_operations_are_applied(self):
        await self.table.create_entity(entity("2", A=1))
        etag = (await self.table.create_entity(entity("3", A=1)))["etag"]
        results = await self.table.submit_transaction(
            [
                ("create", entity("1", A=1)),
                ("update", entity("2", B=2), {"mode": UpdateMode.MERGE}),
                ("delete", entity("3"), {"etag": etag, "match_condition": MatchConditions.IfNotModified}),
                ("upsert", entity("O'Brien é", C=3), {"mode": UpdateMode.REPLACE}),
            ]
        )
        self.assertEqual(len(results), 4)
        self.assertEqual(await self.stored(), [entity("1", A=1), entity("2", A=1, B=2), entity("O'Brien é", C=3)])

    async def test_operations_may_come_asynchronously(self):
        async def operations():
            for n in range(100):
                yield "upsert", entity(f"{n:03}")

        self.assertEqual(len(await self.table.submit_transaction(operations())), 100)
        self.assertEqual(len(await self.stored()), 100)

    async def test_failure_names_its_operation(self):
        await self.table.create_entity(entity("2", A=1))
        stale = {"etag": "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"", "match_condition": MatchConditions.IfNotModified}
        one = ("create", entity("1"))
        await self.assert_fails(0, 409, "EntityAlreadyExists", [("create", entity("2")), one])
        await self.assert_fails(1, 409, "EntityAlreadyExists", [one, ("create", entity("2"))])
        await self.assert_fails(2, 404, "ResourceNotFound", [one, ("create", entity("3")), ("update", entity("4"))])
        await self.assert_fails(1, 412, "UpdateConditionNotSatisfied", [one, ("update", entity("2"), stale)])


class AsyncFaults(TransactionCase):
    async def test_busy_service_is_retried(self):
        rule = inject(self, fault="respond", status=503, code="ServerBusy", first=2)
        options = OPTIONS | {"retry_total": 3, "retry_backoff_factor": 0.01}
        async with TableClient(ENDPOINT, self.name, credential=async_credential(), **options) as table:
            await table.create_entity(entity("1"))
        self.assertEqual(hits(rule), 2)
        self.assertEqual(await self.stored(), [entity("1")])

    async def test_busy_service_is_reported_without_retries(self):
        inject(self, fault="respond", status=503, code="ServerBusy", operations=["writes"])
        await self.assert_rejected(503, "ServerBusy", self.table.create_entity(entity("1")))

    async def test_failed_operation_of_a_transaction_has_its_index(self):
        inject(self, fault="failBatchPart", status=409, code="EntityAlreadyExists", index=1, first=1)
        with self.assertRaises(TableTransactionError) as caught:
            await self.table.submit_transaction([("create", entity(row)) for row in "abc"])
        error = caught.exception
        self.assertEqual((error.index, error.status_code, code_of(error)), (1, 409, "EntityAlreadyExists"))
        self.assertEqual(await self.stored(), [])
