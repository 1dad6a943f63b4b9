package tables;

import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.TableServiceClientBuilder;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** Testcontainers with the image of packaging/image. It is compiled and not run: that needs Docker. */
final class TestcontainersExample implements AutoCloseable {
    private final GenericContainer<?> emulator = new GenericContainer<>("azure-table-emulator")
            .withExposedPorts(10002)
            .waitingFor(Wait.forLogMessage(".*TableEndpoint=.*", 1));

    TableServiceClient start() {
        emulator.start();
        String connectionString = "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
                + "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
                + "TableEndpoint=http://%s:%d/devstoreaccount1;".formatted(
                        emulator.getHost(), emulator.getMappedPort(10002));
        return new TableServiceClientBuilder().connectionString(connectionString).buildClient();
    }

    @Override
    public void close() {
        emulator.stop();
    }
}
