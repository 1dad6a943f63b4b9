"""The official Python client, azure-data-tables: the same work by the same lines as `work/src/lib.rs` describes."""

import datetime
import itertools
import sys
import time
import uuid

from azure.data.tables import EdmType, EntityProperty, TableClient

ACCOUNT = "acct"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=="
PAGE = 1_000
BATCH = 100


def order(n):
    return {
        "PartitionKey": f"customer-{n // BATCH:06}",
        "RowKey": f"{n:010}",
        "Product": f"Product number {n}",
        "Note": "Leave it at the door, please",
        "Quantity": n,
        "Discount": 5,
        "Cents": EntityProperty(1_234_567_890_123 + n, EdmType.INT64),
        "Weight": EntityProperty(-n, EdmType.INT64),
        "Rating": 0.1 + n / 7,
        "Paid": n % 2 == 0,
        "Ordered": datetime.datetime.fromtimestamp(1_700_000_000, datetime.timezone.utc),
        "Id": uuid.UUID(bytes=bytes([n % 256]) * 16),
    }


class Client:
    def __init__(self, endpoint, orders):
        settings = f"AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={endpoint}"
        self.table = TableClient.from_connection_string(settings, "Things")
        self.orders = [order(n) for n in range(orders)]

    def get(self, units):
        for each in self.orders[:units]:
            assert self.table.get_entity(each["PartitionKey"], each["RowKey"])["Discount"] == 5

    def insert(self, units):
        for each in self.orders[:units]:
            self.table.create_entity(each)

    def merge(self, units):
        for each in self.orders[:units]:
            self.table.update_entity(each)

    def page(self, units):
        for page in itertools.islice(self.table.list_entities().by_page(), units // PAGE):
            assert all(each["Discount"] == 5 for each in page)

    def row(self, units):
        assert all(each["Discount"] == 5 for each in itertools.islice(self.table.list_entities(), units))

    def batch(self, units):
        for first in range(0, units, BATCH):
            self.table.submit_transaction(("create", each) for each in self.orders[first : first + BATCH])


def main(endpoint, orders):
    client = Client(endpoint, int(orders))
    for line in sys.stdin:
        operation, units = line.split()
        execute = getattr(client, operation, None)
        if execute is None:
            print("none", flush=True)
            continue
        cpu, elapsed = time.process_time_ns(), time.perf_counter_ns()
        execute(int(units))
        print(time.process_time_ns() - cpu, time.perf_counter_ns() - elapsed, flush=True)


main(*sys.argv[1:])
