package tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableEntityUpdateMode;
import com.azure.data.tables.models.TableTransactionAction;
import com.azure.data.tables.models.TableTransactionActionType;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Keys with characters that URLs, filters and batches have to escape. */
class KeysTest extends TableTest {
    private void assertAddressed(String key) {
        table.createEntity(new TableEntity(key, key).addProperty("A", 1));
        TableEntity read = table.getEntity(key, key);
        assertEquals(List.of(key, key), List.of(read.getPartitionKey(), read.getRowKey()));
        table.updateEntityWithResponse(read.addProperty("A", 2), TableEntityUpdateMode.MERGE, true, null, null);
        table.upsertEntity(new TableEntity(key, key).addProperty("B", 1));
        table.submitTransaction(List.of(new TableTransactionAction(TableTransactionActionType.UPSERT_MERGE,
                new TableEntity(key, key).addProperty("C", 1))));
        assertEquals(Map.of("A", 2, "B", 1, "C", 1), properties(table.getEntity(key, key)));
        String quoted = key.replace("'", "''");
        assertEquals(List.of(key), rows("PartitionKey eq '%1$s' and RowKey eq '%1$s'".formatted(quoted)));
        table.deleteEntity(key, key);
        assertFails(404, "ResourceNotFound", () -> table.getEntity(key, key));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        " ", "a b", "O'Brien", "''", "a+b&c=d", "50%", "%27", "%2F", "(1)", "a,b", ";:@$!*~", "\"quoted\"", "<a>",
        "[b]", "{c}", "a|b", "`^", "..", "$batch", "é", "ключ", "中", "😀"
    })
    void oddKeyIsAddressed(String key) {
        assertAddressed(key);
    }

    @Test
    void storageAcceptsEmptyKeys() {
        assumeFalse(Account.COSMOS, "keys cannot be empty");
        assertAddressed("");
    }

    @Test
    void cosmosRejectsEmptyKeys() {
        assumeTrue(Account.COSMOS, "keys may be empty");
        assertFails(400, "PropertiesNeedValue", () -> table.createEntity(new TableEntity("", "r")));
        assertFails(400, "PropertiesNeedValue", () -> table.createEntity(new TableEntity("p", "")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a/b", "a\\b", "a#b", "a?b", "a\tb", "a\u0080b"})
    void storageRejectsForbiddenCharacters(String key) {
        assumeFalse(Account.COSMOS, "not known");
        assertFails(400, "OutOfRangeInput", () -> table.createEntity(new TableEntity(key, "r")));
    }
}
