package tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.azure.core.credential.AzureSasCredential;
import com.azure.data.tables.TableAsyncClient;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.TableClientBuilder;
import com.azure.data.tables.TableServiceAsyncClient;
import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.models.TableAccessPolicies;
import com.azure.data.tables.models.TableAccessPolicy;
import com.azure.data.tables.models.TableEntity;
import com.azure.data.tables.models.TableSignedIdentifier;
import com.azure.data.tables.models.TableTransactionAction;
import com.azure.data.tables.models.TableTransactionActionType;
import com.azure.data.tables.sas.TableAccountSasPermission;
import com.azure.data.tables.sas.TableAccountSasResourceType;
import com.azure.data.tables.sas.TableAccountSasService;
import com.azure.data.tables.sas.TableAccountSasSignatureValues;
import com.azure.data.tables.sas.TableSasPermission;
import com.azure.data.tables.sas.TableSasSignatureValues;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Shared access signatures and stored access policies: both need the account key. */
class AccessTest extends TableTest {
    private final OffsetDateTime inAnHour = OffsetDateTime.now(ZoneOffset.UTC).plusHours(1);
    private final TableServiceClient owner = Account.withKey().endpoint(Account.ENDPOINT).buildClient();
    private final TableServiceAsyncClient asyncOwner = Account.withKey().endpoint(Account.ENDPOINT).buildAsyncClient();
    private final TableClient owned = owner.getTableClient(name);

    @BeforeEach
    void insertRows() {
        insert(2);
    }

    private TableClientBuilder with(String tableName, TableSasSignatureValues values) {
        return new TableClientBuilder()
                .endpoint(Account.ENDPOINT)
                .tableName(tableName)
                .credential(new AzureSasCredential(owned.generateSas(values)))
                .retryOptions(Account.retries(0));
    }

    private TableClient with(TableSasSignatureValues values) {
        return with(name, values).buildClient();
    }

    private TableSasSignatureValues values(String permissions) {
        return new TableSasSignatureValues(inAnHour, TableSasPermission.parse(permissions));
    }

    private static List<String> rows(TableClient client) {
        return client.listEntities().stream().map(TableEntity::getRowKey).toList();
    }

    @Test
    void signatureGrantsItsPermissionsAlone() {
        TableClient reader = with(values("r"));
        assertEquals(List.of("000", "001"), rows(reader));
        assertEquals(403, status(() -> reader.createEntity(entity("new"))));
        TableClient writer = with(values("au"));
        writer.upsertEntity(entity("new"));
        assertEquals(403, status(() -> rows(writer)));
        assertEquals(403, status(() -> writer.deleteEntity("p", "new")));
    }

    @Test
    void signatureWorksInAConnectionStringAndInTheAsyncClient() {
        String connectionString = "TableEndpoint=%s;SharedAccessSignature=%s"
                .formatted(Account.ENDPOINT, owned.generateSas(values("r")));
        TableClient client = new TableClientBuilder().connectionString(connectionString).tableName(name).buildClient();
        assertEquals(List.of("000", "001"), rows(client));
        TableAsyncClient asyncClient = with(name, values("r")).buildAsyncClient();
        assertEquals(2, asyncClient.listEntities().count().block());
        assertEquals(owned.generateSas(values("r")), asyncOwner.getTableClient(name).generateSas(values("r")));
    }

    @Test
    void signatureAllowsTransactions() {
        with(values("raud")).submitTransaction(List.of(
                new TableTransactionAction(TableTransactionActionType.DELETE, entity("000")),
                new TableTransactionAction(TableTransactionActionType.CREATE, entity("002"))));
        assertEquals(List.of("001", "002"), rows(table));
    }

    @Test
    void expiredSignatureIsRejected() {
        OffsetDateTime past = OffsetDateTime.now(ZoneOffset.UTC).minusMinutes(1);
        TableSasSignatureValues expired = new TableSasSignatureValues(past, TableSasPermission.parse("raud"));
        assertEquals(403, status(() -> rows(with(expired))));
        List<TableTransactionAction> actions =
                List.of(new TableTransactionAction(TableTransactionActionType.CREATE, entity("002")));
        assertEquals(403, status(() -> with(expired).submitTransaction(actions)));
        assertEquals(403, status(() -> with(name, expired).buildAsyncClient().submitTransaction(actions).block()));
        assertEquals(List.of("000", "001"), rows(table));
    }

    @Test
    void signatureOfAnotherTableIsRejected() {
        TableClient other = SERVICE.createTable(freshName());
        assertEquals(403, status(() -> rows(with(other.getTableName(), values("r")).buildClient())));
        other.deleteTable();
    }

    @Test
    void storageSignatureEndsWithItsKeys() {
        assumeFalse(Account.COSMOS, "it has no signatures with ranges of keys");
        TableClient one = with(values("raud")
                .setStartPartitionKey("p").setStartRowKey("001").setEndPartitionKey("p").setEndRowKey("001"));
        assertEquals(List.of("001"), rows(one));
        assertEquals(403, status(() -> one.upsertEntity(entity("000"))));
    }

    @Test
    void accountSignatureGrantsItsResourceTypesAlone() {
        String signature = owner.generateAccountSas(new TableAccountSasSignatureValues(inAnHour,
                TableAccountSasPermission.parse("rl"),
                new TableAccountSasService().setTableAccess(true),
                new TableAccountSasResourceType().setObject(true)));
        TableClient reader = new TableClientBuilder()
                .endpoint(Account.ENDPOINT).tableName(name).sasToken(signature).buildClient();
        assertEquals(List.of("000", "001"), rows(reader));
        assertEquals(403, status(reader::deleteTable));
    }

    @Test
    void storageKeepsPolicies() {
        assumeFalse(Account.COSMOS, "it has no policies");
        assertNull(owned.getAccessPolicies().getIdentifiers());
        OffsetDateTime start = OffsetDateTime.parse("2026-01-02T03:04:05Z");
        owned.setAccessPolicies(List.of(new TableSignedIdentifier("readers").setAccessPolicy(
                new TableAccessPolicy().setStartsOn(start).setExpiresOn(inAnHour).setPermissions("r"))));
        TableAccessPolicies read = asyncOwner.getTableClient(name).getAccessPolicies().block();
        assertEquals(List.of("readers"), read.getIdentifiers().stream().map(TableSignedIdentifier::getId).toList());
        TableAccessPolicy policy = read.getIdentifiers().get(0).getAccessPolicy();
        assertEquals(List.of(start, inAnHour.withNano(0), "r"),
                List.of(policy.getStartsOn(), policy.getExpiresOn(), policy.getPermissions()));
    }

    @Test
    void storagePolicyGrantsAndRevokes() {
        assumeFalse(Account.COSMOS, "it has no policies");
        TableClient reader = with(new TableSasSignatureValues("readers"));
        assertEquals(403, status(() -> rows(reader)));
        owned.setAccessPolicies(List.of(new TableSignedIdentifier("readers")
                .setAccessPolicy(new TableAccessPolicy().setExpiresOn(inAnHour).setPermissions("r"))));
        assertEquals(List.of("000", "001"), rows(reader));
        owned.setAccessPolicies(List.of());
        assertEquals(403, status(() -> rows(reader)));
    }

    @Test
    void storageRejectsSixPolicies() {
        assumeFalse(Account.COSMOS, "it has no policies");
        List<TableSignedIdentifier> six = IntStream.range(0, 6)
                .mapToObj(n -> new TableSignedIdentifier("" + n)
                        .setAccessPolicy(new TableAccessPolicy().setExpiresOn(inAnHour).setPermissions("r")))
                .toList();
        assertEquals(400, status(() -> owned.setAccessPolicies(six)));
    }

    @Test
    void cosmosHasNoPolicies() {
        assumeTrue(Account.COSMOS, "it has policies");
        assertEquals(405, status(owned::getAccessPolicies));
        assertEquals(405, status(() -> owned.setAccessPolicies(List.of())));
    }
}
