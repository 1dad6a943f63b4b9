"""Many entities: filters, selections, pages."""

import uuid
from datetime import datetime, timezone

from azure.data.tables import EdmType, EntityProperty

from smoke import Smoke


class Queries(Smoke):
    def test_filters_of_every_type_select(self):
        id = uuid.uuid4()
        time = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
        values = {
            "S": "O'Brien",
            "T": True,
            "I": 5,
            "L": EntityProperty(5_000_000_000, EdmType.INT64),
            "D": 0.5,
            "W": time,
            "G": id,
            "B": b"\x01\x02",
        }
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r"} | values)
        self.table.create_entity({"PartitionKey": "p", "RowKey": "without"})
        for name, value in values.items():
            with self.subTest(name=name):
                parameters = {"v": 5_000_000_000 if name == "L" else value}
                text = f"{name} eq 5000000000L" if name == "L" else f"{name} eq @v"
                self.assertEqual(self.rows(text, parameters=parameters), ["r"])
                text = f"{name} ne 5000000000L" if name == "L" else f"{name} ne @v"
                self.assertEqual(self.rows(text, parameters=parameters), [])

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

    def test_a_filter_that_is_none_is_refused(self):
        for text in ("N eq", "N equals 1", "N eq 'x", "(N eq 1"):
            with self.subTest(text=text):
                self.assert_refused(400, "InvalidInput", self.rows, text)

    def test_rows_come_in_the_order_of_their_keys(self):
        for key in ("b", "a", "B", "é", "10", "9"):
            self.table.create_entity({"PartitionKey": key, "RowKey": key})
        listed = [row["RowKey"] for row in self.table.list_entities()]
        self.assertEqual(listed, ["10", "9", "B", "a", "b", "é"])

    def test_a_selection_has_its_properties_alone(self):
        self.insert(1)
        (row,) = self.table.query_entities("N eq 0", select=["N", "RowKey"])
        self.assertEqual(dict(row), {"RowKey": "000", "N": 0})
        (row,) = self.table.list_entities(select="Missing")
        self.assertEqual(dict(row), {"Missing": None})

    def test_pages_join_without_loss(self):
        self.insert(7)
        self.insert(4, partition="q'é /?".replace("/", "").replace("?", ""))
        pages = list(map(list, self.table.list_entities(results_per_page=3).by_page()))
        self.assertEqual([len(page) for page in pages], [3, 3, 3, 2])
        self.assertEqual(len({(row["PartitionKey"], row["RowKey"]) for page in pages for row in page}), 11)

    def test_a_query_goes_on_from_its_token(self):
        self.insert(5)
        first = self.table.query_entities("N ge 1", results_per_page=2).by_page()
        self.assertEqual([row["N"] for row in next(first)], [1, 2])
        token = first.continuation_token
        rest = self.table.query_entities("N ge 1", results_per_page=2).by_page(continuation_token=token)
        self.assertEqual([[row["N"] for row in page] for page in rest], [[3, 4]])

    def test_a_page_has_at_most_a_thousand_rows(self):
        for start in range(0, 1_100, 100):
            self.table.submit_transaction(
                [("create", {"PartitionKey": "p", "RowKey": f"{n:05}"}) for n in range(start, start + 100)]
            )
        self.assertEqual([len(list(page)) for page in self.table.list_entities().by_page()], [1_000, 100])
        self.assert_refused(
            400, "InvalidInput", lambda: list(self.table.list_entities(results_per_page=1_001).by_page())
        )
