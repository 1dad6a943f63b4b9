"""Tables, their names, the service's properties.

Statistics are left out: where the account stands in the path, as emulators have it, this client (12.7.0) asks the second region
at an address with the account in it twice.
"""

from azure.data.tables import TableAnalyticsLogging, TableCorsRule, TableMetrics, TableRetentionPolicy, TableServiceClient

from smoke import CONNECTION_STRING, Smoke


class Tables(Smoke):
    def test_a_table_is_created_once_and_listed(self):
        self.assertIn(self.name, [table.name for table in self.service.list_tables()])
        self.assert_refused(409, "TableAlreadyExists", self.service.create_table, self.name)
        self.assert_refused(409, "TableAlreadyExists", self.service.create_table, self.name.upper())
        self.assertEqual(self.service.create_table_if_not_exists(self.name).table_name, self.name)

    def test_tables_are_queried_by_name(self):
        found = self.service.query_tables("TableName eq @name", parameters={"name": self.name})
        self.assertEqual([table.name for table in found], [self.name])

    def test_tables_are_listed_page_by_page(self):
        names = {self.name}
        for _ in range(4):
            names.add(self.service.create_table(self.fresh_name()).table_name)
        pages = [[table.name for table in page] for page in self.service.list_tables(results_per_page=2).by_page()]
        self.assertTrue(all(len(page) <= 2 for page in pages), pages)
        listed = [name for page in pages for name in page]
        self.assertTrue(names <= set(listed))
        self.assertEqual(len(listed), len(set(listed)))
        for name in names - {self.name}:
            self.delete(name)

    def test_a_deleted_table_is_not_found(self):
        name = self.service.create_table(self.fresh_name()).table_name
        self.delete(name)
        self.assertNotIn(name, [table.name for table in self.service.list_tables()])
        gone = self.service.get_table_client(name)
        self.assert_refused(404, "TableNotFound", gone.create_entity, {"PartitionKey": "p", "RowKey": "r"})
        self.assert_refused(404, "TableNotFound", lambda: list(gone.list_entities()))
        # This client reports the delete of a missing table as done.
        gone.delete_table()

    def test_bad_names_are_refused(self):
        for name in ("1a", "a-b", "ab", "x" * 64):
            with self.subTest(name=name), self.assertRaises(ValueError):
                self.service.create_table(name)

    def test_a_wrong_key_is_refused(self):
        service = TableServiceClient.from_connection_string(
            CONNECTION_STRING.replace("AccountKey=Eby8", "AccountKey=AAAA"), retry_total=0
        )
        self.assert_refused(403, "AuthenticationFailed", lambda: list(service.list_tables()))


class Service(Smoke):
    def test_properties_are_set_and_read(self):
        retention = TableRetentionPolicy(enabled=True, days=5)
        self.service.set_service_properties(
            analytics_logging=TableAnalyticsLogging(read=True, write=True, delete=False, retention_policy=retention),
            hour_metrics=TableMetrics(enabled=True, include_apis=True, retention_policy=retention),
            minute_metrics=TableMetrics(enabled=False),
            cors=[
                TableCorsRule(
                    ["https://contoso.com"],
                    ["GET", "PUT"],
                    allowed_headers=["x-ms-*"],
                    exposed_headers=["x-ms-request-id"],
                    max_age_in_seconds=60,
                )
            ],
        )
        properties = self.service.get_service_properties()
        logging, hours = properties["analytics_logging"], properties["hour_metrics"]
        self.assertEqual((logging.read, logging.write, logging.delete), (True, True, False))
        self.assertEqual((logging.retention_policy.enabled, logging.retention_policy.days), (True, 5))
        self.assertEqual((hours.enabled, hours.include_apis), (True, True))
        self.assertFalse(properties["minute_metrics"].enabled)
        (rule,) = properties["cors"]
        self.assertEqual((rule.allowed_origins, rule.allowed_methods), (["https://contoso.com"], ["GET", "PUT"]))
        self.assertEqual((rule.allowed_headers, rule.max_age_in_seconds), (["x-ms-*"], 60))

        # Properties that the call does not name stay.
        self.service.set_service_properties(cors=[])
        properties = self.service.get_service_properties()
        self.assertEqual(properties["cors"], [])
        self.assertTrue(properties["analytics_logging"].read)

    def test_six_rules_are_too_many(self):
        rules = [TableCorsRule([f"https://{n}.contoso.com"], ["GET"]) for n in range(6)]
        self.assert_refused(400, "InvalidXmlDocument", self.service.set_service_properties, cors=rules)
