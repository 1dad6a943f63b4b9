package tables;

import static com.azure.data.tables.models.TableTransactionActionType.CREATE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.data.tables.TableAsyncClient;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.models.TableTransactionFailedException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Failures of the service, injected by the control port. */
class FaultsTest extends TableTest {
    private TableClient retrying() {
        return Account.withCredential().retryOptions(Account.retries(3)).buildClient().getTableClient(name);
    }

    @Test
    void retriesSurvive503() {
        Control.inject("""
                {"fault":"respond","status":503,"code":"ServerBusy","message":"The server is busy.","first":2,"table":"%s"}"""
                .formatted(name));
        retrying().createEntity(entity("r").addProperty("A", 1));
        assertEquals(Map.of("A", 1), stored("r"));
    }

    @Test
    void asyncRetriesSurvive503() {
        Control.inject("""
                {"fault":"respond","status":503,"code":"ServerBusy","message":"The server is busy.","first":2,"table":"%s"}"""
                .formatted(name));
        TableAsyncClient client = Account.withCredential()
                .retryOptions(Account.retries(3)).buildAsyncClient().getTableClient(name);
        client.createEntity(entity("r").addProperty("A", 1)).block();
        assertEquals(Map.of("A", 1), stored("r"));
    }

    @Test
    void withoutRetriesA503HasItsCode() {
        Control.inject("""
                {"fault":"respond","status":503,"code":"ServerBusy","message":"The server is busy.","first":1,"table":"%s"}"""
                .formatted(name));
        assertFails(503, "ServerBusy", () -> table.createEntity(entity("r")));
    }

    @Test
    void retryAfterALostResponseMeetsItsOwnInsert() {
        Control.inject("""
                {"fault":"loseResponse","operations":["insert"],"first":1,"table":"%s"}""".formatted(name));
        assertFails(409, "EntityAlreadyExists", () -> retrying().createEntity(entity("r")));
        assertEquals(Map.of(), stored("r"));
    }

    @Test
    void retriesSurviveACutPage() {
        insert(3);
        Control.inject("""
                {"fault":"cutResponse","bytes":100,"operations":["query"],"first":1,"table":"%s"}""".formatted(name));
        assertEquals(3, retrying().listEntities().stream().count());
    }

    @Test
    void failedPartOfATransactionHasItsIndex() {
        Control.inject("""
                {"fault":"failBatchPart","status":409,"code":"EntityAlreadyExists","first":1,"table":"%s",
                 "message":"1:The specified entity already exists."}""".formatted(name));
        var actions = List.of(
                TransactionsTest.action(CREATE, entity("0")),
                TransactionsTest.action(CREATE, entity("1")),
                TransactionsTest.action(CREATE, entity("2")));
        TableTransactionFailedException failure =
                assertThrows(TableTransactionFailedException.class, () -> table.submitTransaction(actions));
        assertEquals(1, failure.getFailedTransactionActionIndex());
        assertEquals("EntityAlreadyExists", failure.getValue().getErrorCode().toString());
        assertEquals(List.of(), rows(null));
        table.submitTransaction(actions);
        assertEquals(List.of("0", "1", "2"), rows(null));
    }

    @Test
    void timeoutEndsACall() {
        Control.inject("""
                {"fault":"hangResponse","operations":["get"],"table":"%s"}""".formatted(name));
        table.createEntity(entity("r"));
        RuntimeException failure = assertThrows(RuntimeException.class,
                () -> table.getEntityWithResponse("p", "r", null, Duration.ofMillis(200), null));
        assertTrue(failure.toString().contains("Timeout"), failure::toString);
    }
}
