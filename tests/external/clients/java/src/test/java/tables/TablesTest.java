package tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.azure.core.credential.AzureNamedKeyCredential;
import com.azure.core.http.rest.PagedResponse;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.data.tables.models.ListTablesOptions;
import com.azure.data.tables.models.TableItem;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tables and their names. */
class TablesTest extends TableTest {
    private static List<String> names(String filter) {
        return SERVICE.listTables(new ListTablesOptions().setFilter(filter), null, null).stream()
                .map(TableItem::getName)
                .toList();
    }

    @Test
    void createdTableIsListed() {
        assertTrue(SERVICE.listTables().stream().map(TableItem::getName).toList().contains(name));
        assertEquals(List.of(name), names("TableName eq '%s'".formatted(name)));
    }

    @Test
    void existingTableIsAConflict() {
        assertFails(409, "TableAlreadyExists", () -> SERVICE.createTable(name));
        assertEquals(409, SERVICE.createTableIfNotExistsWithResponse(name, null, null).getStatusCode());
        assertEquals(name, SERVICE.createTableIfNotExists(name).getTableName());
    }

    @Test
    void storageComparesNamesWithoutCase() {
        assumeFalse(Account.COSMOS, "names are case-sensitive");
        assertFails(409, "TableAlreadyExists", () -> SERVICE.createTable(name.toUpperCase()));
    }

    @Test
    void cosmosComparesNamesWithCase() {
        assumeTrue(Account.COSMOS, "names are not case-sensitive");
        TableClient other = SERVICE.createTable(name.toUpperCase());
        other.createEntity(entity("r"));
        assertEquals(0, table.listEntities().stream().count());
        other.deleteTable();
    }

    @Test
    void tablesAreListedInPages() {
        List<String> others = Stream.of("a", "b", "c", "d").map(name::concat).toList();
        others.forEach(SERVICE::createTable);
        String filter = "TableName gt '%1$s' and TableName lt '%1$se'".formatted(name);
        ListTablesOptions options = new ListTablesOptions().setFilter(filter).setTop(3);
        List<List<String>> pages = SERVICE.listTables(options, null, null).streamByPage()
                .map(page -> page.getElements().stream().map(TableItem::getName).toList())
                .toList();
        assertEquals(List.of(others.subList(0, 3), others.subList(3, 4)), pages);

        PagedResponse<TableItem> first = SERVICE.listTables(options, null, null).iterableByPage().iterator().next();
        assertEquals(others.subList(3, 4), SERVICE.listTables(options, null, null)
                .streamByPage(first.getContinuationToken())
                .flatMap(page -> page.getElements().stream().map(TableItem::getName))
                .toList());
        others.forEach(SERVICE::deleteTable);
    }

    @Test
    void deletedTableIsMissing() {
        TableClient gone = SERVICE.createTable(freshName());
        gone.deleteTable();
        assertFalse(SERVICE.listTables().stream().anyMatch(item -> item.getName().equals(gone.getTableName())));
        assertFails(404, TABLE_NOT_FOUND, () -> gone.createEntity(entity("r")));
        assertQueryFails(404, TABLE_NOT_FOUND, () -> gone.listEntities().stream().count());
        // The service returns 404, which the client takes for success.
        gone.deleteTable();
        assertEquals(404, SERVICE.deleteTableWithResponse(gone.getTableName(), null, null).getStatusCode());
    }

    @ParameterizedTest
    @CsvSource({"a-b, InvalidResourceName", "1ab, InvalidResourceName", "ab, OutOfRangeInput"})
    void storageRejectsInvalidNames(String invalid, String code) {
        assumeFalse(Account.COSMOS, "more names are valid");
        assertFails(400, code, () -> SERVICE.createTable(invalid));
    }

    @ParameterizedTest
    @CsvSource({"'#'", "'?'", "'\\'"})
    void cosmosRejectsInvalidCharacters(String invalid) {
        assumeTrue(Account.COSMOS, "other names are invalid");
        assertFails(400, "InvalidInput", () -> SERVICE.createTable(invalid));
    }

    @Test
    void wrongKeyIsRejected() {
        TableServiceClient stranger = new TableServiceClientBuilder()
                .endpoint(Account.ENDPOINT)
                .credential(new AzureNamedKeyCredential(Account.NAME, "AAAA"))
                .retryOptions(Account.retries(0))
                .buildClient();
        String code = Account.COSMOS ? "Forbidden" : "AuthenticationFailed";
        assertFails(403, code, () -> stranger.createTable(freshName()));
        assertQueryFails(403, code, () -> stranger.listTables().stream().count());
    }
}
