package tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.azure.core.http.rest.PagedIterable;
import com.azure.core.http.rest.PagedResponse;
import com.azure.data.tables.models.ListEntitiesOptions;
import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableTransactionAction;
import com.azure.data.tables.models.TableTransactionActionType;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Queries in pages. {@code setTop} is the size of a page, not a limit of the query. */
class PagesTest extends TableTest {
    private PagedIterable<TableEntity> query(String filter, int top) {
        return table.listEntities(new ListEntitiesOptions().setFilter(filter).setTop(top), null, null);
    }

    private static List<Object> numbers(PagedResponse<TableEntity> page) {
        return page.getElements().stream().map(row -> row.getProperty("N")).toList();
    }

    @Test
    void pagesJoinWithoutLoss() {
        insert(7);
        assertEquals(List.of(List.of(0, 1, 2), List.of(3, 4, 5), List.of(6)),
                query(null, 3).streamByPage().map(PagesTest::numbers).toList());
        assertEquals(7, query(null, 3).stream().count());
    }

    @Test
    void queryContinuesFromItsToken() {
        insert(5);
        PagedResponse<TableEntity> first = query("N ge 1", 2).iterableByPage().iterator().next();
        assertEquals(List.of(1, 2), numbers(first));
        assertEquals(List.of(3, 4), query("N ge 1", 2)
                .streamByPage(first.getContinuationToken())
                .flatMap(page -> numbers(page).stream())
                .toList());
    }

    @Test
    void pagesCrossPartitions() {
        for (String partition : List.of("p", "q'é %", "r")) {
            table.createEntity(new TableEntity(partition, "1"));
            table.createEntity(new TableEntity(partition, "2"));
        }
        assertEquals(List.of("p1", "p2", "q'é %1", "q'é %2", "r1", "r2"),
                query(null, 1).stream().map(row -> row.getPartitionKey() + row.getRowKey()).toList());
    }

    @Test
    void storagePagesHaveAtMostAThousandRows() {
        assumeFalse(Account.COSMOS, "pages may be larger");
        for (int start = 0; start < 1_100; start += 100) {
            table.submitTransaction(IntStream.range(start, start + 100)
                    .mapToObj(n -> new TableTransactionAction(
                            TableTransactionActionType.CREATE, entity("%05d".formatted(n))))
                    .toList());
        }
        assertEquals(List.of(1_000L, 100L),
                table.listEntities().streamByPage().map(page -> page.getElements().stream().count()).toList());
        assertQueryFails(400, "InvalidInput", () -> query(null, 1_001).stream().count());
    }
}
