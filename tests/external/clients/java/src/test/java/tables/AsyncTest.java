package tables;

import static com.azure.data.tables.models.TableTransactionActionType.CREATE;
import static com.azure.data.tables.models.TableTransactionActionType.DELETE;
import static com.azure.data.tables.models.TableTransactionActionType.UPDATE_REPLACE;
import static com.azure.data.tables.models.TableTransactionActionType.UPSERT_MERGE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.core.http.rest.PagedFlux;
import com.azure.data.tables.TableAsyncClient;
import com.azure.data.tables.models.ListEntitiesOptions;
import com.azure.data.tables.models.ListTablesOptions;
import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableEntityUpdateMode;
import com.azure.data.tables.models.TableItem;
import com.azure.data.tables.models.TableTransactionAction;
import com.azure.data.tables.models.TableTransactionFailedException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The client without blocking calls. */
class AsyncTest extends TableTest {
    @Test
    void tableIsCreatedListedAndDeleted() {
        TableAsyncClient created = ASYNC_SERVICE.createTable(freshName()).block();
        String filter = "TableName eq '%s'".formatted(created.getTableName());
        assertEquals(List.of(created.getTableName()), ASYNC_SERVICE
                .listTables(new ListTablesOptions().setFilter(filter)).map(TableItem::getName).collectList().block());
        assertFails(409, "TableAlreadyExists", () -> created.createTable().block());
        ASYNC_SERVICE.createTableIfNotExists(created.getTableName()).block();
        created.deleteTable().block();
        assertEquals(404, ASYNC_SERVICE.deleteTableWithResponse(created.getTableName()).block().getStatusCode());
        assertFails(404, TABLE_NOT_FOUND, () -> created.createEntity(entity("r")).block());
        assertFails(404, TABLE_NOT_FOUND, () -> created.listEntities().collectList().block());
    }

    @Test
    void entityIsWrittenAndDeleted() {
        Mono<Map<String, Object>> stored = asyncTable.getEntity("p", "r").map(TableTest::properties);
        asyncTable.createEntity(entity("r").addProperty("A", 1)).block();
        assertFails(409, "EntityAlreadyExists", () -> asyncTable.createEntity(entity("r")).block());
        asyncTable.updateEntity(entity("r").addProperty("B", 2L)).block();
        assertEquals(Map.of("A", 1, "B", 2L), stored.block());
        asyncTable.updateEntity(entity("r").addProperty("C", 3.5), TableEntityUpdateMode.REPLACE).block();
        assertEquals(Map.of("C", 3.5), stored.block());
        asyncTable.upsertEntity(entity("r").addProperty("D", "d")).block();
        assertEquals(Map.of("C", 3.5, "D", "d"), stored.block());
        asyncTable.upsertEntityWithResponse(entity("r").addProperty("E", true), TableEntityUpdateMode.REPLACE).block();
        assertEquals(Map.of("E", true), stored.block());
        asyncTable.deleteEntity("p", "r").block();
        assertFails(404, "ResourceNotFound", stored::block);
        assertEquals(404, asyncTable.deleteEntityWithResponse(entity("r"), false).block().getStatusCode());
    }

    @ParameterizedTest
    @EnumSource(TableEntityUpdateMode.class)
    void updateFailsAfterAChange(TableEntityUpdateMode mode) {
        asyncTable.createEntity(entity("r")).block();
        TableEntity read = asyncTable.getEntity("p", "r").block();
        asyncTable.updateEntityWithResponse(read, mode, true).block();
        assertFails(412, "UpdateConditionNotSatisfied",
                () -> asyncTable.updateEntityWithResponse(read, mode, true).block());
        assertFails(412, "UpdateConditionNotSatisfied",
                () -> asyncTable.deleteEntityWithResponse(read, true).block());
    }

    @ParameterizedTest
    @MethodSource("tables.TypesTest#values")
    void valueIsReadAsWritten(Object value) {
        asyncTable.createEntity(entity("r").addProperty("A", value)).block();
        TypesTest.assertSame(value, asyncTable.getEntity("p", "r").block().getProperty("A"));
        TypesTest.assertSame(value, asyncTable.listEntities().blockFirst().getProperty("A"));
    }

    @Test
    void pagesJoinWithoutLoss() {
        insert(7);
        ListEntitiesOptions options = new ListEntitiesOptions()
                .setFilter("N ge 1").setTop(2).setSelect(List.of("PartitionKey", "RowKey", "N"));
        PagedFlux<TableEntity> query = asyncTable.listEntities(options);
        assertEquals(List.of(1, 2, 3, 4, 5, 6), query.map(row -> row.getProperty("N")).collectList().block());
        String token = query.byPage().blockFirst().getContinuationToken();
        assertEquals(List.of(3, 4, 5, 6), query.byPage(token)
                .flatMapIterable(page -> page.getValue())
                .map(row -> row.getProperty("N"))
                .collectList().block());
    }

    @Test
    void malformedFilterIsRejected() {
        assertFails(400, "InvalidInput",
                () -> asyncTable.listEntities(new ListEntitiesOptions().setFilter("N eq")).collectList().block());
    }

    @Test
    void entitiesAreWrittenConcurrently() {
        Flux.range(0, 200)
                .flatMap(n -> asyncTable.createEntity(entity("%03d".formatted(n))), 32)
                .blockLast();
        assertEquals(200, asyncTable.listEntities().count().block());
    }

    @Test
    void transactionIsAppliedAsAWhole() {
        asyncTable.createEntity(entity("1").addProperty("A", 1)).block();
        asyncTable.submitTransaction(List.of(
                new TableTransactionAction(CREATE, entity("0")),
                new TableTransactionAction(UPSERT_MERGE, entity("1").addProperty("B", 2)))).block();
        assertEquals(Map.of("A", 1, "B", 2), stored("1"));

        TableTransactionFailedException failure = assertThrows(TableTransactionFailedException.class,
                () -> asyncTable.submitTransaction(List.of(
                        new TableTransactionAction(DELETE, entity("0")),
                        new TableTransactionAction(UPDATE_REPLACE, entity("missing")))).block());
        assertEquals("1 ResourceNotFound",
                failure.getFailedTransactionActionIndex() + " " + failure.getValue().getErrorCode());
        assertEquals(List.of("0", "1"), rows(null).stream().sorted().toList());
    }
}
