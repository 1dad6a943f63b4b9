"""The asynchronous client: entities, their types and keys, queries."""

import asyncio

from azure.core import MatchConditions
from azure.data.tables import UpdateMode

from clients import COSMOS
from clients_async import AsyncCase, collect, collect_pages
from samples import KEYS as UNUSUAL_KEYS
from samples import VALUES

KEYS = {"PartitionKey": "p", "RowKey": "r"}
ENTITY = KEYS | {"A": 1, "B": "b"}


class AsyncEntities(AsyncCase):
    async def get(self):
        return dict(await self.table.get_entity("p", "r"))

    async def test_insert_is_read_back_with_its_etag(self):
        written = await self.table.create_entity(ENTITY)
        read = await self.table.get_entity("p", "r")
        self.assertEqual((dict(read), read.metadata["etag"]), (ENTITY, written["etag"]))
        await self.assert_rejected(409, "EntityAlreadyExists", self.table.create_entity(ENTITY))

    async def test_each_write_changes_its_properties(self):
        await self.assert_rejected(404, "ResourceNotFound", self.table.update_entity(ENTITY))
        await self.table.upsert_entity(ENTITY, mode=UpdateMode.REPLACE)
        await self.table.update_entity(KEYS | {"C": True}, mode=UpdateMode.MERGE)
        self.assertEqual(await self.get(), ENTITY | {"C": True})
        await self.table.update_entity(KEYS | {"D": 4}, mode=UpdateMode.REPLACE)
        self.assertEqual(await self.get(), KEYS | {"D": 4})
        await self.table.upsert_entity(KEYS | {"E": 5}, mode=UpdateMode.MERGE)
        self.assertEqual(await self.get(), KEYS | {"D": 4, "E": 5})
        await self.table.delete_entity("p", "r")
        await self.assert_rejected(404, "ResourceNotFound", self.table.get_entity("p", "r"))

    async def test_stale_etag_is_rejected(self):
        stale = (await self.table.create_entity(ENTITY))["etag"]
        await self.table.update_entity(ENTITY)
        condition = {"etag": stale, "match_condition": MatchConditions.IfNotModified}
        for call in (self.table.update_entity, self.table.delete_entity):
            await self.assert_rejected(412, "UpdateConditionNotSatisfied", call(ENTITY, **condition))

    async def test_every_type_is_read_as_it_was_written(self):
        await self.table.create_entity(KEYS | VALUES)
        read = await self.table.get_entity("p", "r")
        for name, value in VALUES.items():
            with self.subTest(name=name):
                self.assertEqual(read[name], value)

    async def test_unusual_keys_are_addressed(self):
        for key in UNUSUAL_KEYS:
            with self.subTest(key=key):
                entity = {"PartitionKey": key, "RowKey": key, "A": 1}
                await self.table.create_entity(entity)
                self.assertEqual(dict(await self.table.get_entity(key, key)), entity)
                await self.table.upsert_entity(entity | {"A": 2})
                await self.table.delete_entity(key, key)
                await self.assert_rejected(404, "ResourceNotFound", self.table.get_entity(key, key))

    async def test_concurrent_inserts_are_all_stored(self):
        await asyncio.gather(
            *(self.table.create_entity({"PartitionKey": "p", "RowKey": str(n)}) for n in range(30))
        )
        self.assertEqual(len(await collect(self.table.list_entities())), 30)


class AsyncQueries(AsyncCase):
    async def asyncSetUp(self):
        await super().asyncSetUp()
        await self.table.submit_transaction(
            [("create", {"PartitionKey": "p", "RowKey": f"{n:03}", "N": n}) for n in range(7)]
        )

    async def test_filter_and_selection_are_applied(self):
        rows = self.table.query_entities("N ge @least and N lt 5", parameters={"least": 3}, select=["N"])
        self.assertEqual([dict(row) async for row in rows], [{"N": 3}, {"N": 4}])
        await self.assert_rejected(400, "InvalidInput", collect(self.table.query_entities("N eq")))

    async def test_pages_join_without_loss(self):
        pages = await collect_pages(self.table.list_entities(results_per_page=3).by_page())
        lengths = [len(page) for page in pages]
        self.assertEqual([length for length in lengths if length or not COSMOS], [3, 3, 1])
        self.assertEqual(len({row["RowKey"] for page in pages for row in page}), 7)

    async def test_query_continues_from_its_token(self):
        first = self.table.query_entities("N ge 1", results_per_page=4).by_page()
        self.assertEqual([row["N"] async for row in await anext(first)], [1, 2, 3, 4])
        token = first.continuation_token
        rest = self.table.query_entities("N ge 1", results_per_page=4).by_page(continuation_token=token)
        self.assertEqual([row["N"] for page in await collect_pages(rest) for row in page], [5, 6])
