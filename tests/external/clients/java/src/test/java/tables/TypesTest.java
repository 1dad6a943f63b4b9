package tables;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.azure.data.tables.models.TableEntity;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Values of every type, to the service and back. */
class TypesTest extends TableTest {
    static Stream<Object> values() {
        return Stream.of(
                "", " ", "text é中😀 \"quoted\" \\ \t\r\n", "2026-01-02T03:04:05Z", "5",
                true, false,
                0, Integer.MIN_VALUE, Integer.MAX_VALUE,
                0L, Long.MIN_VALUE, Long.MAX_VALUE,
                0.0, 5.0, -0.1, Double.MIN_VALUE, Double.MAX_VALUE, 1e100,
                OffsetDateTime.parse("1601-01-01T00:00:00Z"),
                OffsetDateTime.parse("2026-01-02T03:04:05.1234567Z"),
                OffsetDateTime.parse("9999-12-31T23:59:59.9999999Z"),
                new UUID(0, 0), new UUID(-1, -1), UUID.fromString("01234567-89ab-cdef-0123-456789abcdef"),
                new byte[0], new byte[] {0, -1, 16});
    }

    static void assertSame(Object expected, Object found) {
        if (expected instanceof byte[] bytes) {
            assertArrayEquals(bytes, (byte[]) found);
        } else {
            assertEquals(expected, found);
        }
    }

    @ParameterizedTest
    @MethodSource("values")
    void valueIsReadAsWritten(Object value) {
        table.createEntity(entity("r").addProperty("A", value));
        assertSame(value, table.getEntity("p", "r").getProperty("A"));
        assertSame(value, table.listEntities().iterator().next().getProperty("A"));
    }

    @Test
    void timesAreReadInUtc() {
        Instant instant = Instant.parse("2026-01-02T03:04:05Z");
        table.createEntity(entity("r")
                .addProperty("Instant", instant)
                .addProperty("Zoned", OffsetDateTime.parse("2026-01-02T05:04:05+02:00")));
        TableEntity read = table.getEntity("p", "r");
        assertEquals(OffsetDateTime.parse("2026-01-02T03:04:05Z"), read.getProperty("Instant"));
        assertEquals(OffsetDateTime.parse("2026-01-02T03:04:05Z"), read.getProperty("Zoned"));
    }

    /** The client writes them as texts, so they need an annotation. */
    @Test
    void doublesThatAreNoNumbersNeedTheirType() {
        List<Double> values = List.of(Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY);
        TableEntity entity = entity("r").addProperty("Text", Double.NaN);
        for (Double value : values) {
            entity.addProperty("A" + values.indexOf(value), value)
                    .addProperty("A%d@odata.type".formatted(values.indexOf(value)), "Edm.Double");
        }
        table.createEntity(entity);
        TableEntity read = table.getEntity("p", "r");
        assertEquals(values, Stream.of("A0", "A1", "A2").map(read::getProperty).toList());
        assertEquals("NaN", read.getProperty("Text"));
    }

    @Test
    void storageRejectsTimesBefore1601() {
        assumeFalse(Account.COSMOS, "not known");
        assertFails(400, "OutOfRangeInput", () -> table.createEntity(
                entity("r").addProperty("A", OffsetDateTime.parse("1600-12-31T23:59:59Z"))));
    }
}
