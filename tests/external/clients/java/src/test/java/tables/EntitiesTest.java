package tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableEntityUpdateMode;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Writes of one entity. */
class EntitiesTest extends TableTest {
    private final TableEntity first = entity("r").addProperty("A", 1).addProperty("B", "b");

    @BeforeEach
    void insertFirst() {
        table.createEntity(first);
    }

    @Test
    void insertedEntityIsRead() {
        TableEntity read = table.getEntity("p", "r");
        assertEquals(Map.of("A", 1, "B", "b"), properties(read));
        assertEquals("p", read.getPartitionKey());
        assertEquals("r", read.getRowKey());
        assertNotNull(read.getTimestamp());
        assertNotNull(read.getETag());
    }

    @Test
    void secondInsertIsAConflict() {
        assertFails(409, "EntityAlreadyExists", () -> table.createEntity(first));
    }

    @Test
    void mergeKeepsOtherProperties() {
        table.updateEntity(entity("r").addProperty("C", true));
        assertEquals(Map.of("A", 1, "B", "b", "C", true), stored("r"));
    }

    @Test
    void replacementRemovesOtherProperties() {
        table.updateEntity(entity("r").addProperty("C", true), TableEntityUpdateMode.REPLACE);
        assertEquals(Map.of("C", true), stored("r"));
    }

    @Test
    void upsertMerges() {
        table.upsertEntity(entity("r").addProperty("A", 2));
        assertEquals(Map.of("A", 2, "B", "b"), stored("r"));
        table.upsertEntity(entity("new").addProperty("A", 3));
        assertEquals(Map.of("A", 3), stored("new"));
    }

    @Test
    void upsertReplaces() {
        table.upsertEntityWithResponse(entity("r").addProperty("A", 2), TableEntityUpdateMode.REPLACE, null, null);
        assertEquals(Map.of("A", 2), stored("r"));
        table.upsertEntityWithResponse(entity("new").addProperty("A", 3), TableEntityUpdateMode.REPLACE, null, null);
        assertEquals(Map.of("A", 3), stored("new"));
    }

    @ParameterizedTest
    @EnumSource(TableEntityUpdateMode.class)
    void updateNeedsTheEntity(TableEntityUpdateMode mode) {
        assertFails(404, "ResourceNotFound", () -> table.updateEntity(entity("missing"), mode));
    }

    @Test
    void deletedEntityIsMissing() {
        table.deleteEntity("p", "r");
        assertFails(404, "ResourceNotFound", () -> table.getEntity("p", "r"));
        // The service returns 404, which the client takes for success.
        assertEquals(404, table.deleteEntityWithResponse(first, false, null, null).getStatusCode());
    }

    @Test
    void nullIsNoProperty() {
        table.updateEntity(entity("r").addProperty("A", null).addProperty("C", 1));
        assertEquals(Map.of("A", 1, "B", "b", "C", 1), stored("r"));
    }

    @Test
    void selectedPropertiesAreRead() {
        List<String> select = List.of("PartitionKey", "RowKey", "B");
        TableEntity read = table.getEntityWithResponse("p", "r", select, null, null).getValue();
        assertEquals(Map.of("B", "b"), properties(read));
    }

    @Test
    void storageRejectsLargeEntities() {
        assumeFalse(Account.COSMOS, "the limits are others");
        assertFails(400, "PropertyValueTooLarge",
                () -> table.upsertEntity(entity("r").addProperty("A", "x".repeat(32_769))));
        TableEntity wide = entity("r");
        for (int n = 0; n < 253; n++) {
            wide.addProperty("P" + n, n);
        }
        assertFails(400, "TooManyProperties", () -> table.upsertEntity(wide));
        TableEntity large = entity("r");
        for (int n = 0; n < 16; n++) {
            large.addProperty("P" + n, new byte[65_536]);
        }
        assertFails(400, "EntityTooLarge", () -> table.upsertEntity(large));
        table.upsertEntity(entity("r").addProperty("A", "é".repeat(32_768)).addProperty("B", new byte[65_536]));
    }
}
