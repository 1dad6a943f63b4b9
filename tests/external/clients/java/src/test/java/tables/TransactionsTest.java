package tables;

import static com.azure.data.tables.models.TableTransactionActionType.CREATE;
import static com.azure.data.tables.models.TableTransactionActionType.DELETE;
import static com.azure.data.tables.models.TableTransactionActionType.UPDATE_MERGE;
import static com.azure.data.tables.models.TableTransactionActionType.UPDATE_REPLACE;
import static com.azure.data.tables.models.TableTransactionActionType.UPSERT_MERGE;
import static com.azure.data.tables.models.TableTransactionActionType.UPSERT_REPLACE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableServiceException;
import com.azure.data.tables.models.TableTransactionAction;
import com.azure.data.tables.models.TableTransactionActionResponse;
import com.azure.data.tables.models.TableTransactionActionType;
import com.azure.data.tables.models.TableTransactionFailedException;
import com.azure.data.tables.models.TableTransactionResult;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Transactions succeed or fail as a whole. */
class TransactionsTest extends TableTest {
    static TableTransactionAction action(TableTransactionActionType type, TableEntity entity) {
        return new TableTransactionAction(type, entity);
    }

    private void assertFailsAt(Integer index, String code, TableTransactionAction... actions) {
        List<String> before = rows(null);
        TableTransactionFailedException failure = assertThrows(TableTransactionFailedException.class,
                () -> table.submitTransaction(List.of(actions)));
        assertEquals(index + " " + code,
                failure.getFailedTransactionActionIndex() + " " + failure.getValue().getErrorCode(),
                failure.getValue()::getErrorMessage);
        assertEquals(before, rows(null));
    }

    @Test
    void allActionsAreApplied() {
        for (String key : List.of("merged", "replaced", "updated", "exchanged", "deleted")) {
            table.createEntity(entity(key).addProperty("A", 1));
        }
        TableTransactionResult result = table.submitTransaction(List.of(
                action(CREATE, entity("created").addProperty("B", 1)),
                action(UPSERT_MERGE, entity("merged").addProperty("B", 1)),
                action(UPSERT_REPLACE, entity("replaced").addProperty("B", 1)),
                action(UPDATE_MERGE, entity("updated").addProperty("B", 1)),
                action(UPDATE_REPLACE, entity("exchanged").addProperty("B", 1)),
                new TableTransactionAction(DELETE, table.getEntity("p", "deleted"), true),
                action(UPSERT_MERGE, entity("O'Brien é%").addProperty("B", 1))));
        assertEquals(List.of(204, 204, 204, 204, 204, 204, 204), result.getTransactionActionResponses().stream()
                .map(TableTransactionActionResponse::getStatusCode)
                .toList());
        assertEquals(204, result.getTableTransactionActionResponseByRowKey("deleted").getStatusCode());
        for (String key : List.of("created", "replaced", "exchanged", "O'Brien é%")) {
            assertEquals(Map.of("B", 1), stored(key));
        }
        for (String key : List.of("merged", "updated")) {
            assertEquals(Map.of("A", 1, "B", 1), stored(key));
        }
        assertFails(404, "ResourceNotFound", () -> table.getEntity("p", "deleted"));
    }

    @Test
    void failureHasTheIndexOfItsAction() {
        table.createEntity(entity("1"));
        TableEntity stale = table.getEntity("p", "1");
        table.upsertEntity(entity("1").addProperty("A", 1));
        TableTransactionAction fine = action(CREATE, entity("0"));
        assertFailsAt(0, "EntityAlreadyExists", action(CREATE, entity("1")), fine);
        assertFailsAt(1, "EntityAlreadyExists", fine, action(CREATE, entity("1")));
        assertFailsAt(2, "ResourceNotFound", fine, action(CREATE, entity("2")), action(UPDATE_MERGE, entity("3")));
        for (TableTransactionActionType type : List.of(UPDATE_MERGE, UPDATE_REPLACE, DELETE)) {
            assertFailsAt(1, "UpdateConditionNotSatisfied", fine, new TableTransactionAction(type, stale, true));
        }
    }

    @Test
    void failureOfTheOnlyActionHasItsCode() {
        table.createEntity(entity("1"));
        // Storage leaves the index out, so the client has none.
        assertFailsAt(Account.COSMOS ? 0 : null, "EntityAlreadyExists", action(CREATE, entity("1")));
        assertFailsAt(Account.COSMOS ? 0 : null, "ResourceNotFound", action(UPDATE_REPLACE, entity("2")));
    }

    @Test
    void storageRejectsARowTwice() {
        assumeFalse(Account.COSMOS, "the whole request fails");
        assertFailsAt(1, "InvalidDuplicateRow", action(UPSERT_MERGE, entity("1")), action(UPSERT_MERGE, entity("1")));
    }

    @Test
    void storageRejectsTwoPartitions() {
        assumeFalse(Account.COSMOS, "the whole request fails");
        assertFailsAt(1, "CommandsInBatchActOnDifferentPartitions",
                action(CREATE, entity("1")), action(CREATE, new TableEntity("q", "1")));
    }

    private static TableTransactionAction[] upserts(int count) {
        return IntStream.range(0, count)
                .mapToObj(n -> action(UPSERT_MERGE, entity("%03d".formatted(n))))
                .toArray(TableTransactionAction[]::new);
    }

    @Test
    void aHundredActionsAreAccepted() {
        assertEquals(100, table.submitTransaction(List.of(upserts(100))).getTransactionActionResponses().size());
        assertEquals(100, rows(null).size());
    }

    @Test
    void storageRejectsMoreThanAHundredActions() {
        assumeFalse(Account.COSMOS, "not known");
        assertFailsAt(99, "InvalidInput", upserts(101));
    }

    @Test
    void transactionWithoutActionsIsNotSent() {
        assertThrows(IllegalArgumentException.class, () -> table.submitTransaction(List.of()));
    }

    @Test
    void storageRejectsMoreThan4MiB() {
        assumeFalse(Account.COSMOS, "the limit is another");
        String text = "x".repeat(30_000);
        List<TableTransactionAction> large = IntStream.range(0, 80)
                .mapToObj(n -> action(UPSERT_MERGE, entity("" + n).addProperty("A", text).addProperty("B", text)))
                .toList();
        TableServiceException failure = assertThrows(TableServiceException.class, () -> table.submitTransaction(large));
        assertEquals(413, failure.getResponse().getStatusCode());
        assertEquals(List.of(), rows(null));
    }

    @Test
    void transactionOnAMissingTableFails() {
        TableTransactionFailedException failure = assertThrows(TableTransactionFailedException.class,
                () -> SERVICE.getTableClient(freshName()).submitTransaction(List.of(action(CREATE, entity("1")))));
        assertEquals(Account.COSMOS ? "ResourceNotFound" : "TableNotFound",
                failure.getValue().getErrorCode().toString());
    }
}
