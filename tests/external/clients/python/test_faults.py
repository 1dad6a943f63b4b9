"""Faults that the emulator's control port injects."""

from azure.core.exceptions import AzureError
from azure.data.tables import TableClient, TableTransactionError

from clients import ENDPOINT, OPTIONS, Case, code_of, credential
from control import hits, inject

ENTITY = {"PartitionKey": "p", "RowKey": "r"}


class Faults(Case):
    def retrying(self):
        options = OPTIONS | {"retry_total": 3, "retry_backoff_factor": 0.01}
        table = TableClient(ENDPOINT, self.name, credential=credential(), **options)
        self.addCleanup(table.close)
        return table

    def test_busy_service_is_retried(self):
        rule = inject(self, fault="respond", status=503, code="ServerBusy", first=2)
        self.retrying().create_entity(ENTITY)
        self.assertEqual(hits(rule), 2)
        self.assertEqual(dict(self.table.get_entity("p", "r")), ENTITY)

    def test_busy_service_is_reported_without_retries(self):
        inject(self, fault="respond", status=503, code="ServerBusy", operations=["reads"])
        self.assert_rejected(503, "ServerBusy", self.table.get_entity, "p", "r")

    def test_failed_operation_of_a_transaction_has_its_index(self):
        inject(self, fault="failBatchPart", status=409, code="EntityAlreadyExists", index=1, first=1)
        operations = [("create", {"PartitionKey": "p", "RowKey": row}) for row in "abc"]
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction(operations)
        error = caught.exception
        self.assertEqual((error.index, error.status_code, code_of(error)), (1, 409, "EntityAlreadyExists"))
        self.assertEqual(list(self.table.list_entities()), [])
        self.assertEqual(len(self.table.submit_transaction(operations)), 3)

    def test_lost_response_leaves_the_entity(self):
        inject(self, fault="loseResponse", operations=["insert"], first=1)
        with self.assertRaises(AzureError) as caught:
            self.table.create_entity(ENTITY)
        self.assertIsNone(getattr(caught.exception, "status_code", None))
        self.assertEqual(dict(self.table.get_entity("p", "r")), ENTITY)

    def test_lost_read_is_retried(self):
        self.table.create_entity(ENTITY)
        rule = inject(self, fault="loseResponse", operations=["reads"], first=1)
        self.assertEqual(dict(self.retrying().get_entity("p", "r")), ENTITY)
        self.assertEqual(hits(rule), 1)
