"""Keys with unusual characters, and their limits."""

import unittest

from azure.core import MatchConditions
from azure.data.tables import UpdateMode

from clients import COSMOS, Case
from samples import KEYS


class Keys(Case):
    def test_unusual_keys_are_addressed(self):
        for key in KEYS:
            with self.subTest(key=key):
                entity = {"PartitionKey": key, "RowKey": key, "A": 1}
                etag = self.table.create_entity(entity)["etag"]
                self.assertEqual(dict(self.table.get_entity(key, key)), entity)
                self.table.upsert_entity(entity | {"B": 2})
                found = self.table.query_entities("PartitionKey eq @key and RowKey eq @key", parameters={"key": key})
                self.assertEqual([dict(row) for row in found], [entity | {"B": 2}])
                stale = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
                self.assert_rejected(412, "UpdateConditionNotSatisfied", self.table.update_entity, entity, **stale)
                self.table.update_entity(entity, mode=UpdateMode.REPLACE)
                self.table.delete_entity(key, key)
                self.assert_rejected(404, "ResourceNotFound", self.table.get_entity, key, key)

    def test_unusual_keys_are_addressed_in_transactions(self):
        for key in KEYS:
            with self.subTest(key=key):
                keys = {"PartitionKey": key, "RowKey": key}
                self.table.submit_transaction([("create", keys | {"A": 1})])
                self.table.submit_transaction([("update", keys | {"B": 2})])
                self.assertEqual(dict(self.table.get_entity(key, key)), keys | {"A": 1, "B": 2})
                self.table.submit_transaction([("delete", keys)])
                self.assert_rejected(404, "ResourceNotFound", self.table.get_entity, key, key)

    def test_pages_continue_at_unusual_keys(self):
        for key in KEYS:
            self.table.create_entity({"PartitionKey": key, "RowKey": key})
        pages = [[row["RowKey"] for row in page] for page in self.table.list_entities(results_per_page=1).by_page()]
        self.assertTrue(all(len(page) <= 1 for page in pages))
        self.assertEqual(sorted(sum(pages, [])), sorted(KEYS))

    def test_empty_keys_exist_on_storage_alone(self):
        entity = {"PartitionKey": "", "RowKey": "", "A": 1}
        if COSMOS:
            self.assert_rejected(400, "PropertiesNeedValue", self.table.create_entity, entity)
        else:
            self.table.create_entity(entity)
            self.assertEqual(dict(self.table.get_entity("", "")), entity)
            self.table.delete_entity("", "")
            self.assertEqual(list(self.table.list_entities()), [])

    def test_missing_keys_are_rejected(self):
        for entity in ({"PartitionKey": "p"}, {"RowKey": "r"}):
            with self.subTest(entity=entity), self.assertRaisesRegex(ValueError, "must be present"):
                self.table.create_entity(entity)

    @unittest.skipIf(COSMOS, "no recording of Cosmos DB shows such keys")
    def test_forbidden_characters_and_lengths_are_rejected(self):
        for key in ("a/b", "a\\b", "a#b", "a?b", "a\tb", "a\u0080b"):
            with self.subTest(key=key):
                entity = {"PartitionKey": key, "RowKey": "r"}
                self.assert_rejected(400, "OutOfRangeInput", self.table.create_entity, entity)
        entity = {"PartitionKey": "p", "RowKey": "x" * 1_025}
        self.assert_rejected(400, "PropertyValueTooLarge", self.table.create_entity, entity)
        self.table.create_entity({"PartitionKey": "p", "RowKey": "x" * 1_024})
