"""The emulator's control port."""

import json
import os
import urllib.request

CONTROL = os.environ["AZURE_TABLE_TEST_CONTROL"]


def inject(case, **rule):
    """Adds a fault to the requests of the test's table until the test ends. Returns its number."""
    body = json.dumps({"table": case.name} | rule).encode()
    with urllib.request.urlopen(f"{CONTROL}/faults", data=body):
        pass
    number = next(active["id"] for active in rules() if active["table"] == case.name)
    delete = urllib.request.Request(f"{CONTROL}/faults/{number}", method="DELETE")
    case.addCleanup(lambda: urllib.request.urlopen(delete).close())
    return number


def hits(number):
    """The requests that received the fault."""
    return next(active["hits"] for active in rules() if active["id"] == number)


def rules():
    with urllib.request.urlopen(f"{CONTROL}/faults") as response:
        return [json.loads(line) for line in response]
