package tables;

import static com.azure.data.tables.models.TableTransactionActionType.CREATE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.data.tables.TableClient;
import com.azure.data.tables.models.TableTransactionAction;
import com.azure.data.tables.models.TableTransactionFailedException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Failures of the service, injected by the control port. */
class FaultsTest extends TableTest {
    private final List<URI> faults = new ArrayList<>();

    /** Injects a fault into requests to the table of the test. */
    private void inject(String members) {
        faults.add(Control.inject(name, members));
    }

    private void makeBusy(int requests) {
        inject("""
                "fault":"respond","status":503,"code":"ServerBusy","message":"The server is busy.","first":%d"""
                .formatted(requests));
    }

    @AfterEach
    void removeFaults() {
        faults.forEach(Control::remove);
    }

    private TableClient retrying() {
        return Account.withCredential().retryOptions(Account.retries(3)).buildClient().getTableClient(name);
    }

    @Test
    void retriesSurvive503() {
        makeBusy(2);
        retrying().createEntity(entity("r").addProperty("A", 1));
        assertEquals(Map.of("A", 1), stored("r"));
    }

    @Test
    void asyncRetriesSurvive503() {
        makeBusy(2);
        Account.withCredential().retryOptions(Account.retries(3)).buildAsyncClient().getTableClient(name)
                .createEntity(entity("r").addProperty("A", 1))
                .block();
        assertEquals(Map.of("A", 1), stored("r"));
    }

    @Test
    void withoutRetriesA503HasItsCode() {
        makeBusy(1);
        assertFails(503, "ServerBusy", () -> table.createEntity(entity("r")));
    }

    @Test
    void retryAfterALostResponseMeetsItsOwnInsert() {
        inject("""
                "fault":"loseResponse","operations":["insert"],"first":1""");
        assertFails(409, "EntityAlreadyExists", () -> retrying().createEntity(entity("r")));
        assertEquals(Map.of(), stored("r"));
    }

    @Test
    void retriesSurviveALostPage() {
        insert(3);
        inject("""
                "fault":"loseResponse","operations":["query"],"first":1""");
        assertEquals(3, retrying().listEntities().stream().count());
    }

    @Test
    void failedPartOfATransactionHasItsIndex() {
        inject("""
                "fault":"failBatchPart","status":409,"code":"EntityAlreadyExists","first":1,
                "message":"1:The specified entity already exists.\"""");
        List<TableTransactionAction> actions = List.of(
                new TableTransactionAction(CREATE, entity("0")), new TableTransactionAction(CREATE, entity("1")));
        TableTransactionFailedException failure =
                assertThrows(TableTransactionFailedException.class, () -> table.submitTransaction(actions));
        assertEquals(1, failure.getFailedTransactionActionIndex());
        assertEquals("EntityAlreadyExists", failure.getValue().getErrorCode().toString());
        assertEquals(List.of(), rows(null));
        table.submitTransaction(actions);
        assertEquals(List.of("0", "1"), rows(null));
    }

    @Test
    void timeoutEndsACall() {
        table.createEntity(entity("r"));
        inject("""
                "fault":"hangResponse","operations":["get"]""");
        RuntimeException failure = assertThrows(RuntimeException.class,
                () -> table.getEntityWithResponse("p", "r", null, Duration.ofMillis(200), null));
        assertTrue(failure.toString().contains("Timeout"), failure::toString);
    }
}
