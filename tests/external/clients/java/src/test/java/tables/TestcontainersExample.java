package tables;

import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.TableServiceClientBuilder;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** The image of packaging/image in Testcontainers. It is compiled and not run: that needs Docker. */
final class TestcontainersExample {
    private static final String KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsu"
            + "Fq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

    // The image has no shell, which Wait.forListeningPort() would run.
    private final GenericContainer<?> emulator =
            new GenericContainer<>("azure-table-emulator")
                    .withExposedPorts(10002)
                    .waitingFor(Wait.forLogMessage(".*TableEndpoint=.*", 1));

    TableServiceClient start() {
        emulator.start();
        String endpoint = "http://%s:%d/devstoreaccount1".formatted(
                emulator.getHost(), emulator.getMappedPort(10002));
        String connectionString = "DefaultEndpointsProtocol=http;"
                + "AccountName=devstoreaccount1;AccountKey=%s;TableEndpoint=%s;"
                        .formatted(KEY, endpoint);
        return new TableServiceClientBuilder()
                .connectionString(connectionString)
                .buildClient();
    }

    void stop() {
        emulator.stop();
    }
}
