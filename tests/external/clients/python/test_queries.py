"""Many entities: filters, selections, pages."""

import unittest
import uuid
from datetime import datetime, timezone

from azure.data.tables import EdmType, EntityProperty

from clients import COSMOS, Case


class Filters(Case):
    def test_filters_of_every_type_select(self):
        values = {
            "S": "O'Brien",
            "T": True,
            "I": 5,
            "L": EntityProperty(5_000_000_000, EdmType.INT64),
            "D": 0.5,
            "W": datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc),
            "G": uuid.uuid4(),
            "B": b"\x01\x02",
        }
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r"} | values)
        self.table.create_entity({"PartitionKey": "p", "RowKey": "without"})
        for name, value in values.items():
            with self.subTest(name=name):
                # The parameters of this client (12.7.0) have no L for an Int64.
                literal, parameters = ("5000000000L", None) if name == "L" else ("@v", {"v": value})
                self.assertEqual(self.rows(f"{name} eq {literal}", parameters=parameters), ["r"])
                self.assertEqual(self.rows(f"{name} ne {literal}", parameters=parameters), [])

    def test_conditions_are_combined(self):
        self.insert(5)
        for text, expected in (
            ("N ge 1 and N lt 3", ["001", "002"]),
            ("N eq 0 or N gt 3", ["000", "004"]),
            ("not (N eq 1) and N le 2", ["000", "002"]),
            ("PartitionKey eq 'p' and RowKey gt '003'", ["004"]),
            ("PartitionKey eq 'q'", []),
            ("Missing eq 1", []),
        ):
            with self.subTest(text=text):
                self.assertEqual(self.rows(text), expected)

    def test_malformed_filters_are_rejected(self):
        for text in ("N eq", "N equals 1", "N eq 'x", "(N eq 1"):
            with self.subTest(text=text):
                self.assert_rejected(400, "InvalidInput", self.rows, text)

    def test_storage_orders_by_keys_and_cosmos_by_insertion(self):
        inserted = ["b", "a", "B", "é", "10", "9"]
        for key in inserted:
            self.table.create_entity({"PartitionKey": "p", "RowKey": key})
        listed = [row["RowKey"] for row in self.table.query_entities("PartitionKey eq 'p'")]
        self.assertEqual(listed, inserted if COSMOS else ["10", "9", "B", "a", "b", "é"])

    def test_selection_has_its_properties_alone(self):
        self.insert(1)
        (row,) = self.table.query_entities("N eq 0", select=["N", "RowKey"])
        self.assertEqual(dict(row), {"RowKey": "000", "N": 0})
        (row,) = self.table.list_entities(select="Missing")
        self.assertEqual(dict(row), {"Missing": None})


class Pages(Case):
    def pages(self, **options):
        """The pages with rows: on Cosmos DB the last one may be empty."""
        pages = [list(page) for page in self.table.list_entities(**options).by_page()]
        return pages[:-1] if COSMOS and not pages[-1] else pages

    def test_pages_join_without_loss(self):
        self.insert(7)
        self.insert(4, partition="q'é +%")
        pages = self.pages(results_per_page=3)
        self.assertEqual([len(page) for page in pages], [3, 3, 3, 2])
        self.assertEqual(len({(row["PartitionKey"], row["RowKey"]) for page in pages for row in page}), 11)

    def test_query_continues_from_its_token(self):
        self.insert(5)
        first = self.table.query_entities("N ge 1", results_per_page=2, select=["N"]).by_page()
        self.assertEqual([dict(row) for row in next(first)], [{"N": 1}, {"N": 2}])
        token = first.continuation_token
        rest = self.table.query_entities("N ge 1", results_per_page=2, select=["N"]).by_page(continuation_token=token)
        self.assertEqual([row["N"] for page in rest for row in page], [3, 4])

    def test_empty_table_has_no_rows(self):
        self.assertEqual([len(list(page)) for page in self.table.list_entities().by_page()], [0])

    def test_page_has_at_most_a_thousand_rows(self):
        for start in range(0, 1_100, 100):
            self.table.submit_transaction(
                [("create", {"PartitionKey": "p", "RowKey": f"{n:05}"}) for n in range(start, start + 100)]
            )
        pages = self.pages()
        self.assertEqual(len({row["RowKey"] for page in pages for row in page}), 1_100)
        if not COSMOS:
            self.assertEqual([len(page) for page in pages], [1_000, 100])

    @unittest.skipIf(COSMOS, "Cosmos DB does not limit the rows of a page to 1,000")
    def test_larger_pages_are_rejected(self):
        self.assert_rejected(
            400, "InvalidInput", lambda: list(self.table.list_entities(results_per_page=1_001).by_page())
        )
