"""Entity group transactions: they succeed or fail as a whole."""

import json
import os
import urllib.request

from azure.core import MatchConditions
from azure.data.tables import RequestTooLargeError, TableTransactionError, UpdateMode

from smoke import Smoke

CONTROL = os.environ["AZURE_TABLE_TEST_CONTROL"]


def entity(row_key, **properties):
    return {"PartitionKey": "p", "RowKey": row_key} | properties


class Transactions(Smoke):
    def assert_fails(self, index, code, operations):
        before = [dict(row) for row in self.table.list_entities()]
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction(operations)
        error = caught.exception
        found = getattr(error.error_code, "value", error.error_code)
        self.assertEqual((error.index, found), (index, code), str(error))
        self.assertEqual([dict(row) for row in self.table.list_entities()], before)

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
            [dict(row) for row in self.table.list_entities()],
            [entity("1", A=1), entity("2", A=1, B=2), entity("3", B=2), entity("5", C=3), entity("O'Brien é", C=3)],
        )
        self.assertEqual(self.table.get_entity("p", "1").metadata["etag"], results[0]["etag"])

    def test_a_failure_names_its_operation(self):
        self.table.create_entity(entity("2", A=1))
        stale = {"etag": "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"", "match_condition": MatchConditions.IfNotModified}
        one = ("create", entity("1"))
        self.assert_fails(1, "EntityAlreadyExists", [one, ("create", entity("2"))])
        self.assert_fails(2, "ResourceNotFound", [one, ("create", entity("3")), ("update", entity("4"))])
        self.assert_fails(1, "UpdateConditionNotSatisfied", [one, ("update", entity("2"), stale)])
        self.assert_fails(1, "PropertyValueTooLarge", [one, ("create", entity("3", A="x" * 32_769))])
        self.assert_fails(1, "InvalidDuplicateRow", [one, ("upsert", entity("1"))])

    def test_the_first_operation_fails_too(self):
        self.table.create_entity(entity("1"))
        self.assert_fails(0, "EntityAlreadyExists", [("create", entity("1")), ("create", entity("2"))])

    def test_an_injected_failure_names_its_operation(self):
        rule = {"fault": "failBatchPart", "status": 409, "code": "EntityAlreadyExists", "index": 2, "table": self.name}
        request = urllib.request.Request(f"{CONTROL}/faults", json.dumps(rule).encode(), method="PUT")
        self.addCleanup(urllib.request.urlopen, urllib.request.Request(f"{CONTROL}/faults", method="DELETE"))
        urllib.request.urlopen(request).close()
        self.assert_fails(2, "EntityAlreadyExists", [("create", entity(str(n))) for n in range(4)])

    def test_another_partition_is_refused(self):
        with self.assertRaises(ValueError):
            self.table.submit_transaction([("create", entity("1")), ("create", {"PartitionKey": "q", "RowKey": "1"})])

    def test_a_hundred_operations_are_taken_and_more_are_not(self):
        hundred = [("upsert", entity(f"{n:03}")) for n in range(100)]
        self.assertEqual(len(self.table.submit_transaction(hundred)), 100)
        self.assert_fails(99, "InvalidInput", hundred + [("upsert", entity("100"))])

    def test_a_body_beyond_4_mib_is_refused(self):
        large = [("upsert", entity(str(n), A="x" * 30_000, B="x" * 30_000)) for n in range(80)]
        with self.assertRaises(RequestTooLargeError):
            self.table.submit_transaction(large)
        self.assertEqual(list(self.table.list_entities()), [])
