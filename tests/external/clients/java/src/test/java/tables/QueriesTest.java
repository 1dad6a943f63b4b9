package tables;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.data.tables.models.ListEntitiesOptions;
import com.azure.data.tables.models.TableEntity;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Filters and selections. */
class QueriesTest extends TableTest {
    @ParameterizedTest
    @ValueSource(strings = {
        "S eq 'O''Brien'", "T eq true", "I eq 5", "L eq 5000000000L", "D eq 0.5", "W eq datetime'2026-01-02T03:04:05Z'",
        "G eq guid'01234567-89ab-cdef-0123-456789abcdef'", "B eq X'0102'", "I gt 4 and I lt 6", "L ge 5000000000L",
        "D le 0.5", "W gt datetime'2025-01-01T00:00:00Z'"
    })
    void filterComparesByType(String filter) {
        table.createEntity(entity("r")
                .addProperty("S", "O'Brien")
                .addProperty("T", true)
                .addProperty("I", 5)
                .addProperty("L", 5_000_000_000L)
                .addProperty("D", 0.5)
                .addProperty("W", OffsetDateTime.parse("2026-01-02T03:04:05Z"))
                .addProperty("G", UUID.fromString("01234567-89ab-cdef-0123-456789abcdef"))
                .addProperty("B", new byte[] {1, 2}));
        table.createEntity(entity("without"));
        assertEquals(List.of("r"), rows(filter));
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '"', delimiter = ':', value = {
        "N ge 1 and N lt 3:001 002", "N eq 0 or N gt 3:000 004", "not (N eq 1) and N le 2:000 002",
        "PartitionKey eq 'p' and RowKey gt '003':004", "PartitionKey eq 'q':\"\"", "Missing eq 1:\"\""
    })
    void conditionsAreCombined(String filter, String expected) {
        insert(5);
        assertEquals(Arrays.stream(expected.split(" ")).filter(key -> !key.isEmpty()).toList(), rows(filter));
    }

    @ParameterizedTest
    @ValueSource(strings = {"N eq", "N equals 1", "N eq 'x", "(N eq 1"})
    void malformedFilterIsRejected(String filter) {
        assertQueryFails(400, "InvalidInput", () -> rows(filter));
    }

    @Test
    void selectionHasItsPropertiesAlone() {
        table.createEntity(entity("r").addProperty("A", 1).addProperty("B", 2L).addProperty("C", 3.5));
        ListEntitiesOptions options = new ListEntitiesOptions().setSelect(List.of("PartitionKey", "RowKey", "B", "C"));
        TableEntity row = table.listEntities(options, null, null).iterator().next();
        assertEquals(Map.of("B", 2L, "C", 3.5), properties(row));
        assertEquals("r", row.getRowKey());
    }

    @Test
    void storageOrdersRowsByKeyAndCosmosByInsertion() {
        List<String> inserted = List.of("b", "a", "B", "é", "10", "9");
        inserted.forEach(key -> table.createEntity(entity(key)));
        List<String> sorted = inserted.stream().sorted().toList();
        assertEquals(Account.COSMOS ? inserted : sorted, rows(null));
    }
}
