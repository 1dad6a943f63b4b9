"""Starts the image with Testcontainers. Type-checked, not run: that needs Docker."""

from collections.abc import Iterator

import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy


@pytest.fixture(scope="session")
def connection_string() -> Iterator[str]:
    image = DockerContainer("azure-table-emulator").with_exposed_ports(10002)
    image = image.with_env("AZURE_TABLE_EMULATOR_ACCOUNTS", "test:c2VjcmV0")
    with image.waiting_for(LogMessageWaitStrategy("Ctrl-C stops it")) as container:
        address = container.get_container_host_ip()
        port = container.get_exposed_port(10002)
        yield (
            "DefaultEndpointsProtocol=http;AccountName=test;AccountKey=c2VjcmV0;"
            f"TableEndpoint=http://{address}:{port}/test;"
        )
