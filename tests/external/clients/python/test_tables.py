"""Tables and their names."""

from azure.core.exceptions import ResourceExistsError
from azure.data.tables import TableClient

from clients import COSMOS, ENDPOINT, OPTIONS, Case, credential, fresh_name


class Tables(Case):
    def test_table_is_created_once_and_listed(self):
        self.assertIn(self.name, [table.name for table in self.service.list_tables()])
        error = self.assert_rejected(409, "TableAlreadyExists", self.service.create_table, self.name)
        self.assertIsInstance(error, ResourceExistsError)
        self.assertEqual(self.service.create_table_if_not_exists(self.name).table_name, self.name)

    def test_case_of_names_matters_on_cosmos_alone(self):
        capitals = self.name.upper()
        if COSMOS:
            self.service.create_table(capitals)
            self.service.delete_table(capitals)
            self.assertIn(self.name, [table.name for table in self.service.list_tables()])
        else:
            self.assert_rejected(409, "TableAlreadyExists", self.service.create_table, capitals)

    def test_table_client_creates_and_deletes_its_table(self):
        table = TableClient(ENDPOINT, fresh_name(), credential=credential(), **OPTIONS)
        self.assertEqual(table.create_table().name, table.table_name)
        self.assert_rejected(409, "TableAlreadyExists", table.create_table)
        table.delete_table()
        self.assertNotIn(table.table_name, [table.name for table in self.service.list_tables()])

    def test_tables_are_queried_by_name(self):
        found = self.service.query_tables("TableName eq @name", parameters={"name": self.name})
        self.assertEqual([table.name for table in found], [self.name])
        found = self.service.query_tables(f"TableName gt '{self.name}' and TableName lt '{self.name}0'")
        self.assertEqual(list(found), [])

    def test_tables_are_listed_page_by_page(self):
        names = {self.name}
        for _ in range(4):
            names.add(self.service.create_table(fresh_name()).table_name)
        pages = [[table.name for table in page] for page in self.service.list_tables(results_per_page=2).by_page()]
        self.assertTrue(all(len(page) <= 2 for page in pages), pages)
        self.assertGreaterEqual(len(pages), 3)
        listed = [name for page in pages for name in page]
        self.assertTrue(names <= set(listed))
        self.assertEqual(len(listed), len(set(listed)))
        for name in names - {self.name}:
            self.service.delete_table(name)

    def test_deleted_table_is_not_found(self):
        gone = self.service.create_table(fresh_name())
        self.service.delete_table(gone.table_name)
        self.assertNotIn(gone.table_name, [table.name for table in self.service.list_tables()])
        code = "ResourceNotFound" if COSMOS else "TableNotFound"
        self.assert_rejected(404, code, gone.create_entity, {"PartitionKey": "p", "RowKey": "r"})
        self.assert_rejected(404, code, lambda: list(gone.list_entities()))
        # This client reports the delete of a missing table as done.
        gone.delete_table()

    def test_invalid_names_are_rejected(self):
        # The client raises its own error for the service's codes of a name.
        for name in ("a\\", "a#", "a?") if COSMOS else ("1a", "a-b", "ab", "x" * 64):
            with self.subTest(name=name), self.assertRaises(ValueError):
                self.service.create_table(name)

    def test_cosmos_accepts_names_that_storage_rejects(self):
        for name in ("my_" + fresh_name(), "啊齄丂狛狜" + fresh_name()):
            if COSMOS:
                self.service.create_table(name).create_entity({"PartitionKey": "p", "RowKey": "r"})
                self.service.delete_table(name)
            else:
                with self.assertRaises(ValueError):
                    self.service.create_table(name)
