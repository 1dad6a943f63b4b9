package tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import com.azure.core.http.HttpHeaderName;
import com.azure.core.http.rest.Response;
import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableEntityUpdateMode;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Writes on condition that the entity is unchanged. */
class ConditionsTest extends TableTest {
    /** The client takes the last quote away from the header: {@code W/"…} is no ETag. */
    private static String etag(Response<Void> response) {
        String etag = response.getHeaders().getValue(HttpHeaderName.ETAG);
        return etag.endsWith("\"") ? etag : etag + "\"";
    }

    @Test
    void writesReturnTheETagThatReadsReturn() {
        String inserted = etag(table.createEntityWithResponse(entity("r").addProperty("A", 1), null, null));
        assertEquals(inserted, table.getEntity("p", "r").getETag());
        String updated = etag(
                table.updateEntityWithResponse(entity("r"), TableEntityUpdateMode.MERGE, false, null, null));
        assertNotEquals(inserted, updated);
        assertEquals(updated, table.listEntities().iterator().next().getETag());
    }

    @ParameterizedTest
    @EnumSource(TableEntityUpdateMode.class)
    void updateFailsAfterAChange(TableEntityUpdateMode mode) {
        table.createEntity(entity("r").addProperty("A", 1));
        TableEntity read = table.getEntity("p", "r").addProperty("A", 2);
        table.updateEntityWithResponse(read, mode, true, null, null);
        assertEquals(Map.of("A", 2), stored("r"));
        assertFails(412, "UpdateConditionNotSatisfied",
                () -> table.updateEntityWithResponse(read, mode, true, null, null));
        table.updateEntityWithResponse(read, mode, false, null, null);
    }

    @Test
    void deletionFailsAfterAChange() {
        table.createEntity(entity("r"));
        TableEntity read = table.getEntity("p", "r");
        table.upsertEntity(entity("r").addProperty("A", 1));
        assertFails(412, "UpdateConditionNotSatisfied", () -> table.deleteEntityWithResponse(read, true, null, null));
        table.deleteEntityWithResponse(table.getEntity("p", "r"), true, null, null);
        assertFails(404, "ResourceNotFound", () -> table.getEntity("p", "r"));
    }
}
