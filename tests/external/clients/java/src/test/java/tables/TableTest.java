package tables;

import static java.util.stream.Collectors.toMap;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.exception.HttpResponseException;
import com.azure.data.tables.TableAsyncClient;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.TableServiceAsyncClient;
import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.models.ListEntitiesOptions;
import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableServiceException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.function.Executable;

/** A test with a table of its own. */
abstract class TableTest {
    static final TableServiceClient SERVICE = Account.withCredential().buildClient();
    static final TableServiceAsyncClient ASYNC_SERVICE = Account.withCredential().buildAsyncClient();

    /** The code for a table that does not exist. */
    static final String TABLE_NOT_FOUND = Account.COSMOS ? "ResourceNotFound" : "TableNotFound";

    final String name = freshName();
    final TableClient table = SERVICE.getTableClient(name);
    final TableAsyncClient asyncTable = ASYNC_SERVICE.getTableClient(name);

    @BeforeEach
    void createTable() {
        table.createTable();
    }

    @AfterEach
    void deleteTable() {
        table.deleteTable();
    }

    static String freshName() {
        return "j" + UUID.randomUUID().toString().replace("-", "");
    }

    static TableEntity entity(String rowKey) {
        return new TableEntity("p", rowKey);
    }

    /** Inserts the entities p, 000 to count - 1 with their number as N. */
    void insert(int count) {
        for (int n = 0; n < count; n++) {
            table.createEntity(entity("%03d".formatted(n)).addProperty("N", n));
        }
    }

    /** The properties that a user has set, without keys, types and what the service adds. */
    static Map<String, Object> properties(TableEntity entity) {
        return entity.getProperties().entrySet().stream()
                .filter(property -> !property.getKey().contains("odata.")
                        && !List.of("PartitionKey", "RowKey", "Timestamp").contains(property.getKey()))
                .collect(toMap(Map.Entry::getKey, Map.Entry::getValue, (one, other) -> one, TreeMap::new));
    }

    Map<String, Object> stored(String rowKey) {
        return properties(table.getEntity("p", rowKey));
    }

    /** The row keys that a filter selects. */
    List<String> rows(String filter) {
        return table.listEntities(new ListEntitiesOptions().setFilter(filter), null, null).stream()
                .map(TableEntity::getRowKey)
                .toList();
    }

    static TableServiceException assertFails(int status, String code, Executable call) {
        TableServiceException failure = assertThrows(TableServiceException.class, call);
        assertEquals(status + " " + code,
                failure.getResponse().getStatusCode() + " " + failure.getValue().getErrorCode(), failure::getMessage);
        return failure;
    }

    static int status(Executable call) {
        return assertThrows(HttpResponseException.class, call).getResponse().getStatusCode();
    }

    /** The client throws another, internal class if a query fails. Users catch the class above both. */
    static void assertQueryFails(int status, String code, Executable call) {
        HttpResponseException failure = assertThrows(HttpResponseException.class, call);
        assertEquals(status, failure.getResponse().getStatusCode(), failure::getMessage);
        assertTrue(failure.getMessage().contains("\"code\":\"%s\"".formatted(code)), failure::getMessage);
    }
}
