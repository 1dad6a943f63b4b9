"""One entity: writes and their conditions, types, keys."""

import uuid
from datetime import datetime, timezone

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.data.tables import EdmType, EntityProperty, UpdateMode

from smoke import Smoke


class Writes(Smoke):
    entity = {"PartitionKey": "p", "RowKey": "r", "A": 1, "B": "b"}

    def get(self):
        return dict(self.table.get_entity("p", "r"))

    def test_an_insert_is_read_back_with_its_version(self):
        written = self.table.create_entity(self.entity)
        read = self.table.get_entity("p", "r")
        self.assertEqual(dict(read), self.entity)
        self.assertEqual(read.metadata["etag"], written["etag"])
        self.assertIsInstance(read.metadata["timestamp"], datetime)
        error = self.assert_refused(409, "EntityAlreadyExists", self.table.create_entity, self.entity)
        self.assertIsInstance(error, ResourceExistsError)

    def test_a_merge_keeps_and_a_replace_takes_away(self):
        self.table.create_entity(self.entity)
        self.table.update_entity({"PartitionKey": "p", "RowKey": "r", "C": True}, mode=UpdateMode.MERGE)
        self.assertEqual(self.get(), self.entity | {"C": True})
        self.table.update_entity({"PartitionKey": "p", "RowKey": "r", "D": 4}, mode=UpdateMode.REPLACE)
        self.assertEqual(self.get(), {"PartitionKey": "p", "RowKey": "r", "D": 4})

    def test_updates_need_the_entity_and_upserts_do_not(self):
        for mode in UpdateMode:
            error = self.assert_refused(404, "ResourceNotFound", self.table.update_entity, self.entity, mode=mode)
            self.assertIsInstance(error, ResourceNotFoundError)
        self.table.upsert_entity(self.entity, mode=UpdateMode.MERGE)
        self.table.upsert_entity({"PartitionKey": "p", "RowKey": "r", "A": 2}, mode=UpdateMode.MERGE)
        self.assertEqual(self.get(), self.entity | {"A": 2})
        self.table.upsert_entity({"PartitionKey": "p", "RowKey": "r"}, mode=UpdateMode.REPLACE)
        self.assertEqual(self.get(), {"PartitionKey": "p", "RowKey": "r"})

    def test_a_stale_version_is_refused(self):
        first = self.table.create_entity(self.entity)["etag"]
        condition = {"match_condition": MatchConditions.IfNotModified}
        second = self.table.update_entity(self.entity, mode=UpdateMode.REPLACE, etag=first, **condition)["etag"]
        self.assertNotEqual(first, second)
        for call in (self.table.update_entity, self.table.delete_entity):
            error = self.assert_refused(412, "UpdateConditionNotSatisfied", call, self.entity, etag=first, **condition)
            self.assertIsInstance(error, ResourceModifiedError)
        self.table.delete_entity(self.entity, etag=second, **condition)
        self.assert_refused(404, "ResourceNotFound", self.table.get_entity, "p", "r")

    def test_a_delete_of_nothing_is_done(self):
        # The service returns 404, and the client raises this error.
        self.table.delete_entity("p", "missing")

    def test_a_selection_has_its_properties_alone(self):
        self.table.create_entity(self.entity)
        self.assertEqual(dict(self.table.get_entity("p", "r", select=["B"])), {"B": "b"})

    def test_limits_are_refused_by_name(self):
        entity = {"PartitionKey": "p", "RowKey": "r"}
        self.assert_refused(
            400, "PropertyValueTooLarge", self.table.create_entity, entity | {"A": "x" * 32_769}
        )
        many = {f"P{n}": n for n in range(253)}
        self.assert_refused(400, "TooManyProperties", self.table.create_entity, entity | many)
        large = {f"P{n}": bytes(65_536) for n in range(16)}
        self.assert_refused(400, "EntityTooLarge", self.table.create_entity, entity | large)
        self.assert_refused(413, "RequestBodyTooLarge", self.table.create_entity, entity | {"A": "x" * (5 << 20)})
        self.table.create_entity(entity | {"A": "é" * 32_768, "B": bytes(65_536)})


class Types(Smoke):
    def test_every_type_survives(self):
        id = uuid.uuid4()
        time = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=timezone.utc)
        values = {
            "String": "text \u00e9\u4e2d\U0001f600 \"quoted\" \\ \n",
            "Empty": "",
            "True": True,
            "False": False,
            "Int32": -2_147_483_648,
            "Int64": EntityProperty(-9_223_372_036_854_775_808, EdmType.INT64),
            "Double": 0.1,
            "Whole": 5.0,
            "Large": 1.7976931348623157e308,
            "DateTime": time,
            "Guid": id,
            "Binary": b"\x00\xff\x10",
        }
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r"} | values)
        for read in (self.table.get_entity("p", "r"), next(iter(self.table.list_entities()))):
            for name, value in values.items():
                with self.subTest(name=name):
                    self.assertEqual(read[name], value)
                    self.assertEqual(type(read[name]).__name__ in ("TablesEntityDatetime", type(value).__name__), True)

    def test_doubles_that_are_no_numbers_survive(self):
        self.table.create_entity(
            {"PartitionKey": "p", "RowKey": "r", "A": float("nan"), "B": float("inf"), "C": float("-inf")}
        )
        read = self.table.get_entity("p", "r")
        self.assertNotEqual(read["A"], read["A"])
        self.assertEqual((read["B"], read["C"]), (float("inf"), float("-inf")))

    def test_a_time_keeps_its_seventh_digit(self):
        self.table.create_entity(
            {"PartitionKey": "p", "RowKey": "r", "A": EntityProperty("2026-01-02T03:04:05.1234567Z", EdmType.DATETIME)}
        )
        self.assertEqual(self.table.get_entity("p", "r")["A"].tables_service_value, "2026-01-02T03:04:05.1234567Z")

    def test_none_is_no_property(self):
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r", "A": None})
        self.assertNotIn("A", self.table.get_entity("p", "r"))

    def test_dates_before_1601_are_refused(self):
        entity = {"PartitionKey": "p", "RowKey": "r", "A": datetime(1600, 12, 31, tzinfo=timezone.utc)}
        self.assert_refused(400, "OutOfRangeInput", self.table.create_entity, entity)


class Keys(Smoke):
    ODD = ["", "a b", "O'Brien", "''", "a+b&c=d", "50%", "%27", "(1)", "a,b", "ключ", "\u4e2d", "\U0001f600", "é", ";:@$!*~"]

    def test_odd_keys_are_addressed(self):
        for key in self.ODD:
            with self.subTest(key=key):
                entity = {"PartitionKey": key, "RowKey": key, "A": 1}
                etag = self.table.create_entity(entity)["etag"]
                self.assertEqual(dict(self.table.get_entity(key, key)), entity)
                changed = self.table.update_entity(entity | {"A": 2}, mode=UpdateMode.REPLACE, etag=etag,
                                                   match_condition=MatchConditions.IfNotModified)
                self.assertNotEqual(changed["etag"], etag)
                self.table.delete_entity(key, key)
                self.assert_refused(404, "ResourceNotFound", self.table.get_entity, key, key)

    def test_forbidden_characters_and_lengths_are_refused(self):
        for key in ("a/b", "a\\b", "a#b", "a?b", "a\tb", "a\u0080b"):
            with self.subTest(key=key):
                entity = {"PartitionKey": key, "RowKey": "r"}
                self.assert_refused(400, "OutOfRangeInput", self.table.create_entity, entity)
        entity = {"PartitionKey": "p", "RowKey": "x" * 1_025}
        self.assert_refused(400, "PropertyValueTooLarge", self.table.create_entity, entity)
        self.table.create_entity({"PartitionKey": "p", "RowKey": "x" * 1_024})
