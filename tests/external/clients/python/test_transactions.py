"""Entity group transactions: they succeed or fail as a whole."""

import unittest

from azure.core import MatchConditions
from azure.data.tables import RequestTooLargeError, TableTransactionError, UpdateMode

from clients import COSMOS, Case, code_of


def entity(row_key, **properties):
    return {"PartitionKey": "p", "RowKey": row_key} | properties


class Transactions(Case):
    def stored(self):
        return sorted((dict(row) for row in self.table.list_entities()), key=lambda row: row["RowKey"])

    def assert_fails(self, index, status, code, operations):
        before = self.stored()
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction(operations)
        error = caught.exception
        self.assertEqual((error.index, error.status_code, code_of(error)), (index, status, code), str(error))
        self.assertEqual(self.stored(), before)

    def test_all_operations_are_applied(self):
        self.table.create_entity(entity("2", A=1))
        self.table.create_entity(entity("3", A=1))
        etag = self.table.create_entity(entity("4", A=1))["etag"]
        results = self.table.submit_transaction(
            [
                ("create", entity("1", A=1)),
                ("update", entity("2", B=2), {"mode": UpdateMode.MERGE}),
                ("update", entity("3", B=2), {"mode": UpdateMode.REPLACE}),
                ("delete", entity("4"), {"etag": etag, "match_condition": MatchConditions.IfNotModified}),
                ("upsert", entity("5", C=3)),
                ("upsert", entity("O'Brien é", C=3), {"mode": UpdateMode.REPLACE}),
            ]
        )
        self.assertEqual(len(results), 6)
        self.assertTrue(all("etag" in result for n, result in enumerate(results) if n != 3), results)
        self.assertEqual(
            self.stored(),
            [entity("1", A=1), entity("2", A=1, B=2), entity("3", B=2), entity("5", C=3), entity("O'Brien é", C=3)],
        )
        self.assertEqual(self.table.get_entity("p", "1").metadata["etag"], results[0]["etag"])

    def test_failure_names_its_operation(self):
        self.table.create_entity(entity("2", A=1))
        stale = {"etag": "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"", "match_condition": MatchConditions.IfNotModified}
        one = ("create", entity("1"))
        self.assert_fails(1, 409, "EntityAlreadyExists", [one, ("create", entity("2"))])
        self.assert_fails(2, 404, "ResourceNotFound", [one, ("create", entity("3")), ("update", entity("4"))])
        self.assert_fails(1, 404, "ResourceNotFound", [one, ("delete", entity("4"))])
        self.assert_fails(1, 412, "UpdateConditionNotSatisfied", [one, ("update", entity("2"), stale)])
        self.assert_fails(0, 412, "UpdateConditionNotSatisfied", [("delete", entity("2"), stale), one])

    def test_first_operation_fails_too(self):
        self.table.create_entity(entity("1"))
        self.assert_fails(0, 409, "EntityAlreadyExists", [("create", entity("1"))])
        self.assert_fails(0, 409, "EntityAlreadyExists", [("create", entity("1")), ("create", entity("2"))])

    def test_repeated_row_is_rejected(self):
        operations = [("create", entity("1")), ("create", entity("2")), ("create", entity("1"))]
        if COSMOS:
            # The whole batch is rejected, so this client raises its general error.
            error = self.assert_rejected(400, "InvalidDuplicateRow", self.table.submit_transaction, operations)
            self.assertTrue(error.message.startswith("2:"), error.message)
            self.assertEqual(self.stored(), [])
        else:
            self.assert_fails(2, 400, "InvalidDuplicateRow", operations)

    def test_other_partitions_are_rejected(self):
        with self.assertRaises(ValueError):
            self.table.submit_transaction([("create", entity("1")), ("create", {"PartitionKey": "q", "RowKey": "1"})])

    def test_missing_table_is_reported(self):
        missing = self.service.get_table_client(self.name + "x")
        with self.assertRaises(TableTransactionError) as caught:
            missing.submit_transaction([("create", entity("1"))])
        self.assertEqual(code_of(caught.exception), "ResourceNotFound" if COSMOS else "TableNotFound")

    def test_hundred_operations_are_applied(self):
        self.assertEqual(len(self.table.submit_transaction([("upsert", entity(f"{n:03}")) for n in range(100)])), 100)
        self.assertEqual(len(self.stored()), 100)

    @unittest.skipIf(COSMOS, "no recording of Cosmos DB shows its limits")
    def test_limits_are_reported(self):
        self.assert_fails(99, 400, "InvalidInput", [("upsert", entity(f"{n:03}")) for n in range(101)])
        self.assert_fails(
            1, 400, "PropertyValueTooLarge", [("create", entity("1")), ("create", entity("2", A="x" * 32_769))]
        )
        large = [("upsert", entity(str(n), A="x" * 30_000, B="x" * 30_000)) for n in range(80)]
        with self.assertRaises(RequestTooLargeError):
            self.table.submit_transaction(large)
        self.assertEqual(self.stored(), [])
