"""Properties and statistics of the service, which Cosmos DB does not have."""

import unittest
from urllib.parse import urlsplit

from azure.core.credentials import AzureSasCredential
from azure.data.tables import (
    TableAnalyticsLogging,
    TableCorsRule,
    TableMetrics,
    TableRetentionPolicy,
    TableServiceClient,
)

from clients import COSMOS, ENDPOINT, ENDPOINT_WITHOUT_ACCOUNT, OPTIONS, SETTINGS, WithKey, account_sas


class Service(WithKey):
    @unittest.skipIf(COSMOS, "Cosmos DB has no service properties")
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

    @unittest.skipIf(COSMOS, "Cosmos DB has no service properties")
    def test_six_cors_rules_are_too_many(self):
        rules = [TableCorsRule([f"https://{n}.contoso.com"], ["GET"]) for n in range(6)]
        self.assert_rejected(400, "InvalidXmlDocument", self.service.set_service_properties, cors=rules)

    @unittest.skipUnless(COSMOS, "Storage has service properties")
    def test_properties_are_rejected(self):
        self.assert_rejected(405, "MethodNotAllowed", self.service.get_service_properties)
        self.assert_rejected(405, "MethodNotAllowed", self.service.set_service_properties, cors=[])

    @unittest.skipIf(COSMOS, "Cosmos DB has no statistics")
    def test_statistics_come_from_the_secondary(self):
        # With the account in the path of the endpoint, this client (12.7.0) would put it into the secondary's address
        # twice. It signs with a key before it changes the address, so only other credentials work here.
        secondary = f"{urlsplit(ENDPOINT).netloc}/{SETTINGS['AccountName']}-secondary"
        options = OPTIONS | {"credential": AzureSasCredential(account_sas()), "secondary_hostname": secondary}
        with TableServiceClient(ENDPOINT_WITHOUT_ACCOUNT, **options) as service:
            replication = service.get_service_stats()["geo_replication"]
        self.assertEqual(replication["status"], "live")
        self.assertIsNotNone(replication["last_sync_time"])
