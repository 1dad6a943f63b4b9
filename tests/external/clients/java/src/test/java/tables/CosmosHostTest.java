package tables;

import static com.azure.data.tables.models.TableTransactionActionType.UPDATE_MERGE;
import static com.azure.data.tables.models.TableTransactionActionType.UPSERT_MERGE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.azure.core.http.HttpMethod;
import com.azure.core.http.HttpPipelineCallContext;
import com.azure.core.http.HttpPipelineNextPolicy;
import com.azure.core.http.HttpPipelinePosition;
import com.azure.core.http.HttpResponse;
import com.azure.core.http.policy.HttpPipelinePolicy;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.data.tables.models.TableEntityUpdateMode;
import com.azure.data.tables.models.TableTransactionAction;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/**
 * The client takes an endpoint for Cosmos DB if it contains {@code cosmos.azure.}, never by localhost. The file hosts
 * resolves such a host. The certificate does not name it.
 */
class CosmosHostTest extends TableTest {
    /** Collects the methods of the requests. */
    private static final class Methods implements HttpPipelinePolicy {
        private final Queue<HttpMethod> sent = new ConcurrentLinkedQueue<>();

        @Override
        public Mono<HttpResponse> process(HttpPipelineCallContext context, HttpPipelineNextPolicy next) {
            sent.add(context.getHttpRequest().getHttpMethod());
            return next.process();
        }

        @Override
        public HttpPipelinePosition getPipelinePosition() {
            return HttpPipelinePosition.PER_RETRY;
        }
    }

    private final Methods methods = new Methods();

    private TableClient cosmos() {
        URI endpoint = URI.create(Account.ENDPOINT);
        assumeTrue(Account.COSMOS && endpoint.getScheme().equals("http"), "Cosmos DB without HTTPS");
        return new TableServiceClientBuilder()
                .endpoint("http://%s.table.cosmos.azure.localhost:%d".formatted(Account.NAME, endpoint.getPort()))
                .credential(Account.key())
                .addPolicy(methods)
                .buildClient()
                .getTableClient(name);
    }

    @Test
    void mergesAreTunnelled() {
        TableClient client = cosmos();
        client.upsertEntity(entity("r").addProperty("A", 1));
        client.updateEntity(entity("r").addProperty("B", 2), TableEntityUpdateMode.MERGE);
        assertEquals(List.of(HttpMethod.POST, HttpMethod.POST), List.copyOf(methods.sent));
        assertEquals(Map.of("A", 1, "B", 2), properties(client.getEntity("p", "r")));
    }

    /** In a transaction the client writes MERGE for every service. Cosmos DB accepts that (recorded on 2024-11-04). */
    @Test
    void mergesInATransactionAreAccepted() {
        TableClient client = cosmos();
        client.createEntity(entity("r").addProperty("A", 1));
        client.submitTransaction(List.of(
                new TableTransactionAction(UPDATE_MERGE, entity("r").addProperty("B", 2)),
                new TableTransactionAction(UPSERT_MERGE, entity("new").addProperty("B", 3))));
        assertEquals(Map.of("A", 1, "B", 2), properties(client.getEntity("p", "r")));
        assertEquals(Map.of("B", 3), properties(client.getEntity("p", "new")));
    }
}
