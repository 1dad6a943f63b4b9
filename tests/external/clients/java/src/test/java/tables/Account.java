package tables;

import static java.util.stream.Collectors.toMap;

import com.azure.core.credential.AccessToken;
import com.azure.core.credential.AzureNamedKeyCredential;
import com.azure.core.credential.AzureSasCredential;
import com.azure.core.credential.TokenCredential;
import com.azure.core.http.policy.FixedDelayOptions;
import com.azure.core.http.policy.RetryOptions;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.data.tables.sas.TableAccountSasPermission;
import com.azure.data.tables.sas.TableAccountSasResourceType;
import com.azure.data.tables.sas.TableAccountSasService;
import com.azure.data.tables.sas.TableAccountSasSignatureValues;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.Map;
import reactor.core.publisher.Mono;

/** The account of the environment, which {@code tests/external/clients/run} sets. */
final class Account {
    static final String CONNECTION_STRING = variable("AZURE_TABLE_TEST_CLIENTS");
    static final boolean COSMOS = variable("AZURE_TABLE_TEST_PROFILE").equals("cosmos");
    static final String CREDENTIAL = variable("AZURE_TABLE_TEST_CREDENTIAL");

    private static final Map<String, String> SETTINGS = Arrays.stream(CONNECTION_STRING.split(";"))
            .map(setting -> setting.split("=", 2))
            .collect(toMap(setting -> setting[0], setting -> setting[1]));

    static final String NAME = SETTINGS.get("AccountName");
    static final String ENDPOINT = SETTINGS.get("TableEndpoint");

    private Account() {
    }

    static String variable(String name) {
        String value = System.getenv(name);
        if (value == null) {
            throw new IllegalStateException(name + " is not set: run tests/external/clients/run java");
        }
        return value;
    }

    static AzureNamedKeyCredential key() {
        return new AzureNamedKeyCredential(NAME, SETTINGS.get("AccountKey"));
    }

    /** A client with the account key. Only the key makes signatures, and some operations accept no other credential. */
    static TableServiceClientBuilder withKey() {
        return builder().credential(key());
    }

    /** A client with the credential under test. */
    static TableServiceClientBuilder withCredential() {
        return switch (CREDENTIAL) {
            case "key" -> builder().connectionString(CONNECTION_STRING);
            case "sas" -> builder().endpoint(ENDPOINT).credential(new AzureSasCredential(accountSignature()));
            case "token" -> builder().endpoint(ENDPOINT).credential(token());
            default -> throw new IllegalStateException("no credential " + CREDENTIAL);
        };
    }

    private static TableServiceClientBuilder builder() {
        return new TableServiceClientBuilder().retryOptions(retries(0));
    }

    /** The client waits 0.8 seconds before the first retry by default. */
    static RetryOptions retries(int count) {
        return new RetryOptions(new FixedDelayOptions(count, Duration.ofMillis(10)));
    }

    private static TokenCredential token() {
        AccessToken token = new AccessToken(variable("AZURE_TABLE_TEST_TOKEN"), OffsetDateTime.now().plusHours(1));
        return request -> Mono.just(token);
    }

    private static String accountSignature() {
        return withKey().endpoint(ENDPOINT).buildClient().generateAccountSas(new TableAccountSasSignatureValues(
                OffsetDateTime.now().plusHours(1),
                TableAccountSasPermission.parse("rwdlacu"),
                new TableAccountSasService().setTableAccess(true),
                TableAccountSasResourceType.parse("sco")));
    }
}
