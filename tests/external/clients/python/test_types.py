"""Each type of a property, with its extremes, both ways."""

import math
import unittest
from datetime import datetime, timedelta, timezone

from azure.data.tables import EdmType, EntityProperty

from clients import COSMOS, Case
from samples import VALUES

KEYS = {"PartitionKey": "p", "RowKey": "r"}


class Types(Case):
    def test_every_type_is_read_as_it_was_written(self):
        self.table.create_entity(KEYS | VALUES)
        for read in (self.table.get_entity("p", "r"), next(iter(self.table.list_entities()))):
            for name, value in VALUES.items():
                with self.subTest(name=name):
                    self.assertEqual(read[name], value)
                    self.assertIn(type(read[name]).__name__, ("TablesEntityDatetime", type(value).__name__))

    def test_every_type_is_replaced_and_merged(self):
        self.table.upsert_entity(KEYS | {"String": 1, "Int32Least": "text"})
        self.table.upsert_entity(KEYS | VALUES)
        read = self.table.get_entity("p", "r")
        for name, value in VALUES.items():
            with self.subTest(name=name):
                self.assertEqual(read[name], value)

    def test_nan_is_read_as_nan(self):
        self.table.create_entity(KEYS | {"A": math.nan})
        self.assertTrue(math.isnan(self.table.get_entity("p", "r")["A"]))

    def test_typed_texts_are_values(self):
        values = {
            "Int32": ("12345", EdmType.INT32, 12_345),
            "Boolean": ("False", EdmType.BOOLEAN, False),
            "Double": ("3.14", EdmType.DOUBLE, 3.14),
            "Int64": ("23", EdmType.INT64, EntityProperty(23, EdmType.INT64)),
        }
        self.table.create_entity(KEYS | {name: EntityProperty(text, kind) for name, (text, kind, _) in values.items()})
        read = self.table.get_entity("p", "r")
        for name, (_, _, value) in values.items():
            with self.subTest(name=name):
                self.assertEqual(read[name], value)

    def test_time_keeps_its_seventh_digit(self):
        self.table.create_entity(KEYS | {"A": EntityProperty("2026-01-02T03:04:05.1234567Z", EdmType.DATETIME)})
        self.assertEqual(self.table.get_entity("p", "r")["A"].tables_service_value, "2026-01-02T03:04:05.1234567Z")

    def test_time_with_an_offset_is_read_in_utc(self):
        time = datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=2)))
        self.table.create_entity(KEYS | {"A": time})
        read = self.table.get_entity("p", "r")["A"]
        self.assertEqual((read, read.utcoffset()), (time, timedelta(0)))

    @unittest.skipIf(COSMOS, "no recording of Cosmos DB shows such dates")
    def test_dates_before_1601_are_rejected(self):
        entity = KEYS | {"A": datetime(1600, 12, 31, tzinfo=timezone.utc)}
        self.assert_rejected(400, "OutOfRangeInput", self.table.create_entity, entity)

    def test_numbers_beyond_their_type_are_rejected(self):
        with self.assertRaises(TypeError):
            self.table.create_entity(KEYS | {"A": 2**31})
        with self.assertRaises(TypeError):
            self.table.create_entity(KEYS | {"A": EntityProperty(2**63, EdmType.INT64)})
        with self.assertRaises(TypeError):
            self.table.create_entity(KEYS | {"A": EntityProperty(str(-(2**63) - 1), EdmType.INT64)})
