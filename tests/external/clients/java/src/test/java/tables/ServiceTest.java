package tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static tables.TableTest.status;

import com.azure.data.tables.TableServiceAsyncClient;
import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.models.TableServiceCorsRule;
import com.azure.data.tables.models.TableServiceGeoReplication;
import com.azure.data.tables.models.TableServiceGeoReplicationStatus;
import com.azure.data.tables.models.TableServiceLogging;
import com.azure.data.tables.models.TableServiceMetrics;
import com.azure.data.tables.models.TableServiceProperties;
import com.azure.data.tables.models.TableServiceRetentionPolicy;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The properties of the account's service, and its statistics. Only this class changes them. */
class ServiceTest {
    private final TableServiceClient service = Account.withKey().endpoint(Account.ENDPOINT).buildClient();
    private final TableServiceAsyncClient asyncService =
            Account.withKey().endpoint(Account.ENDPOINT).buildAsyncClient();

    private static TableServiceProperties properties(List<TableServiceCorsRule> rules) {
        TableServiceRetentionPolicy fiveDays = new TableServiceRetentionPolicy().setEnabled(true).setDaysToRetain(5);
        TableServiceRetentionPolicy forever = new TableServiceRetentionPolicy().setEnabled(false);
        return new TableServiceProperties()
                .setLogging(new TableServiceLogging()
                        .setAnalyticsVersion("1.0")
                        .setReadLogged(true)
                        .setWriteLogged(true)
                        .setDeleteLogged(false)
                        .setRetentionPolicy(fiveDays))
                .setHourMetrics(new TableServiceMetrics()
                        .setVersion("1.0")
                        .setEnabled(true)
                        .setIncludeApis(true)
                        .setRetentionPolicy(fiveDays))
                .setMinuteMetrics(new TableServiceMetrics()
                        .setVersion("1.0")
                        .setEnabled(false)
                        .setRetentionPolicy(forever))
                .setCorsRules(rules);
    }

    private static TableServiceCorsRule rule(String origin) {
        return new TableServiceCorsRule()
                .setAllowedOrigins(origin)
                .setAllowedMethods("GET,PUT")
                .setAllowedHeaders("x-ms-*")
                .setExposedHeaders("x-ms-request-id")
                .setMaxAgeInSeconds(60);
    }

    @Test
    void storageKeepsProperties() {
        assumeFalse(Account.COSMOS, "it has no properties");
        service.setProperties(properties(List.of(rule("https://contoso.com"))));
        for (TableServiceProperties read : List.of(service.getProperties(), asyncService.getProperties().block())) {
            assertTrue(read.getLogging().isReadLogged());
            assertFalse(read.getLogging().isDeleteLogged());
            assertEquals(5, read.getLogging().getRetentionPolicy().getDaysToRetain());
            assertTrue(read.getHourMetrics().isEnabled());
            assertTrue(read.getHourMetrics().isIncludeApis());
            assertFalse(read.getMinuteMetrics().isEnabled());
            assertEquals(1, read.getCorsRules().size());
            TableServiceCorsRule rule = read.getCorsRules().get(0);
            assertEquals(List.of("https://contoso.com", "GET,PUT", "x-ms-*", "x-ms-request-id", 60),
                    List.of(rule.getAllowedOrigins(), rule.getAllowedMethods(), rule.getAllowedHeaders(),
                            rule.getExposedHeaders(), rule.getMaxAgeInSeconds()));
        }
        asyncService.setProperties(properties(List.of())).block();
        assertNull(service.getProperties().getCorsRules());
    }

    @Test
    void storageRejectsSixCorsRules() {
        assumeFalse(Account.COSMOS, "it has no properties");
        List<TableServiceCorsRule> six =
                IntStream.range(0, 6).mapToObj(n -> rule("https://contoso%d.com".formatted(n))).toList();
        assertEquals(400, status(() -> service.setProperties(properties(six))));
    }

    /** The address of the secondary location is the user's to form: the client has no option for it. */
    @Test
    void storageHasStatisticsOfItsSecondary() {
        assumeFalse(Account.COSMOS, "it has no statistics");
        String secondary = Account.ENDPOINT + "-secondary";
        for (TableServiceGeoReplication found : List.of(
                Account.withKey().endpoint(secondary).buildClient().getStatistics().getGeoReplication(),
                Account.withKey().endpoint(secondary).buildAsyncClient().getStatistics().block().getGeoReplication())) {
            assertEquals(TableServiceGeoReplicationStatus.LIVE, found.getStatus());
            assertTrue(found.getLastSyncTime().isAfter(OffsetDateTime.now().minusDays(1)));
        }
    }

    @Test
    void cosmosHasNoProperties() {
        assumeTrue(Account.COSMOS, "it has properties");
        assertEquals(405, status(service::getProperties));
        assertEquals(405, status(() -> service.setProperties(properties(List.of()))));
        assertEquals(405, status(service::getStatistics));
    }
}
