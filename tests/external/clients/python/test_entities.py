"""One entity: writes, their conditions, limits."""

import unittest
from datetime import datetime

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.data.tables import UpdateMode

from clients import COSMOS, Case

ENTITY = {"PartitionKey": "p", "RowKey": "r", "A": 1, "B": "b"}


class Writes(Case):
    def get(self):
        return dict(self.table.get_entity("p", "r"))

    def test_insert_is_read_back_with_its_etag(self):
        written = self.table.create_entity(ENTITY)
        read = self.table.get_entity("p", "r")
        self.assertEqual(dict(read), ENTITY)
        self.assertEqual(read.metadata["etag"], written["etag"])
        self.assertIsInstance(read.metadata["timestamp"], datetime)
        error = self.assert_rejected(409, "EntityAlreadyExists", self.table.create_entity, ENTITY)
        self.assertIsInstance(error, ResourceExistsError)

    def test_merge_keeps_properties_and_replace_removes_them(self):
        self.table.create_entity(ENTITY)
        self.table.update_entity({"PartitionKey": "p", "RowKey": "r", "C": True}, mode=UpdateMode.MERGE)
        self.assertEqual(self.get(), ENTITY | {"C": True})
        self.table.update_entity({"PartitionKey": "p", "RowKey": "r", "D": 4}, mode=UpdateMode.REPLACE)
        self.assertEqual(self.get(), {"PartitionKey": "p", "RowKey": "r", "D": 4})

    def test_updates_need_the_entity_and_upserts_do_not(self):
        for mode in UpdateMode:
            error = self.assert_rejected(404, "ResourceNotFound", self.table.update_entity, ENTITY, mode=mode)
            self.assertIsInstance(error, ResourceNotFoundError)
        self.table.upsert_entity(ENTITY, mode=UpdateMode.MERGE)
        self.table.upsert_entity({"PartitionKey": "p", "RowKey": "r", "A": 2}, mode=UpdateMode.MERGE)
        self.assertEqual(self.get(), ENTITY | {"A": 2})
        self.table.upsert_entity({"PartitionKey": "p", "RowKey": "r"}, mode=UpdateMode.REPLACE)
        self.assertEqual(self.get(), {"PartitionKey": "p", "RowKey": "r"})
        self.table.upsert_entity(ENTITY | {"RowKey": "new"}, mode=UpdateMode.REPLACE)
        self.assertEqual(self.rows("A eq 1"), ["new"])

    def test_stale_etag_is_rejected(self):
        first = self.table.create_entity(ENTITY)["etag"]
        condition = {"match_condition": MatchConditions.IfNotModified}
        second = self.table.update_entity(ENTITY, mode=UpdateMode.REPLACE, etag=first, **condition)["etag"]
        self.assertNotEqual(first, second)
        for call in (self.table.update_entity, self.table.delete_entity):
            error = self.assert_rejected(412, "UpdateConditionNotSatisfied", call, ENTITY, etag=first, **condition)
            self.assertIsInstance(error, ResourceModifiedError)
        self.table.update_entity(ENTITY, match_condition=MatchConditions.Unconditionally)
        third = self.table.get_entity("p", "r").metadata["etag"]
        self.table.delete_entity(ENTITY, etag=third, **condition)
        self.assert_rejected(404, "ResourceNotFound", self.table.get_entity, "p", "r")

    def test_delete_of_a_missing_entity_succeeds(self):
        # The service returns 404, which this client does not raise.
        self.table.delete_entity("p", "missing")

    def test_none_is_no_property(self):
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r", "A": None})
        self.assertNotIn("A", self.get())
        self.table.upsert_entity(ENTITY)
        self.table.update_entity({"PartitionKey": "p", "RowKey": "r", "A": None}, mode=UpdateMode.MERGE)
        self.assertEqual(self.get(), ENTITY)

    def test_selection_has_its_properties_alone(self):
        self.table.create_entity(ENTITY)
        self.assertEqual(dict(self.table.get_entity("p", "r", select=["B"])), {"B": "b"})
        self.assertEqual(dict(self.table.get_entity("p", "r", select="A,Missing")), {"A": 1, "Missing": None})


class Limits(Case):
    KEYS = {"PartitionKey": "p", "RowKey": "r"}

    @unittest.skipIf(COSMOS, "Cosmos DB has other limits, which no recording shows")
    def test_limits_are_reported_by_name(self):
        for status, code, properties in (
            (400, "PropertyValueTooLarge", {"A": "x" * 32_769}),
            (400, "TooManyProperties", {f"P{n}": n for n in range(253)}),
            (400, "EntityTooLarge", {f"P{n}": bytes(65_536) for n in range(16)}),
            (413, "RequestBodyTooLarge", {"A": "x" * (5 << 20)}),
        ):
            with self.subTest(code=code):
                self.assert_rejected(status, code, self.table.create_entity, self.KEYS | properties)

    def test_large_values_are_stored(self):
        largest = {"A": "é" * 32_768, "B": bytes(65_536)} | {f"P{n}": n for n in range(250)}
        self.table.create_entity(self.KEYS | largest)
        self.assertEqual(dict(self.table.get_entity("p", "r")), self.KEYS | largest)

    @unittest.skipUnless(COSMOS, "Storage limits a property to 64 KiB")
    def test_cosmos_stores_larger_values(self):
        self.table.create_entity(self.KEYS | {"A": "x" * 100_000})
        self.assertEqual(len(self.table.get_entity("p", "r")["A"]), 100_000)

    def test_invalid_property_names_are_rejected(self):
        self.assert_rejected(400, "PropertyNameInvalid", self.table.create_entity, self.KEYS | {"123": 1})
        if not COSMOS:
            self.assert_rejected(400, "PropertyNameTooLong", self.table.create_entity, self.KEYS | {"a" * 256: 1})
