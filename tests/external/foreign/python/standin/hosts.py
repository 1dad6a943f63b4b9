"""Hosts of accounts lead to the emulators instead of the network.

AZURE_TABLE_FOREIGN_HOSTS is a JSON object of domain and port. Certificates are checked as usual.
"""

import json
import os
import socket
import time

PORTS = json.loads(os.environ["AZURE_TABLE_FOREIGN_HOSTS"])
_resolve = socket.getaddrinfo


def _lead(host, port, *arguments, **options):
    name = host.decode() if isinstance(host, bytes) else host
    for domain, emulator in PORTS.items():
        if name is not None and name.endswith("." + domain):
            return _resolve("127.0.0.1", emulator, *arguments, **options)
    return _resolve(host, port, *arguments, **options)


socket.getaddrinfo = _lead
# A live service takes 30 s until new properties and policies are in effect.
time.sleep = lambda seconds: None
