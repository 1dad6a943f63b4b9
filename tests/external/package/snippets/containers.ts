// Starts the image with Testcontainers. Type-checked, not run: that needs Docker.
import { GenericContainer, Wait } from "testcontainers";

export async function startTables() {
  const container = await new GenericContainer("azure-table-emulator")
    .withEnvironment({ AZURE_TABLE_EMULATOR_ACCOUNTS: "test:c2VjcmV0" })
    .withExposedPorts(10002)
    .withWaitStrategy(Wait.forLogMessage("Ctrl-C stops it."))
    .start();
  const address = `${container.getHost()}:${container.getMappedPort(10002)}`;
  const connectionString =
    "DefaultEndpointsProtocol=http;AccountName=test;AccountKey=c2VjcmV0;" +
    `TableEndpoint=http://${address}/test;`;
  return { container, connectionString };
}
