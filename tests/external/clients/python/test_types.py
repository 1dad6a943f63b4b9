"""Each type of a property, with its extremes, both ways."""

import math
import unittest
import uuid
from datetime import datetime, timedelta, timezone

from azure.data.tables import EdmType, EntityProperty

from clients import COSMOS, Case

KEYS = {"PartitionKey": "p", "RowKey": "r"}


class Types(Case):
    VALUES = {
        "String": "text \u00e9\u4e2d\U0001f600 \"quoted\" \\ \n\t'",
        "Empty": "",
        "True": True,
        "False": False,
        "Int32Least": -2_147_483_648,
        "Int32Greatest": 2_147_483_647,
        "Int64Least": EntityProperty(-9_223_372_036_854_775_808, EdmType.INT64),
        "Int64Greatest": EntityProperty(9_223_372_036_854_775_807, EdmType.INT64),
        "Int64Small": EntityProperty(5, EdmType.INT64),
        "Double": 0.1,
        "Whole": 5.0,
        "NegativeZero": -0.0,
        "Least": 5e-324,
        "Greatest": 1.7976931348623157e308,
        "Infinity": math.inf,
        "NegativeInfinity": -math.inf,
        "DateTime": datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=timezone.utc),
        "Earliest": datetime(1601, 1, 1, tzinfo=timezone.utc),
        "Latest": datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone.utc),
        "Guid": uuid.UUID("d3365292-0f33-4e13-9ec6-2ea5053c32ad"),
        "NilGuid": uuid.UUID(int=0),
        "Binary": bytes(range(256)),
        "NoBytes": b"",
    }

    def test_every_type_is_read_as_it_was_written(self):
        self.table.create_entity(KEYS | self.VALUES)
        for read in (self.table.get_entity("p", "r"), next(iter(self.table.list_entities()))):
            for name, value in self.VALUES.items():
                with self.subTest(name=name):
                    self.assertEqual(read[name], value)
                    self.assertIn(type(read[name]).__name__, ("TablesEntityDatetime", type(value).__name__))

    def test_every_type_is_replaced_and_merged(self):
        self.table.upsert_entity(KEYS | {"String": 1, "Int32Least": "text"})
        self.table.upsert_entity(KEYS | self.VALUES)
        read = self.table.get_entity("p", "r")
        for name, value in self.VALUES.items():
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
