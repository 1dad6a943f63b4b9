package tables;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** The emulator's control port, which injects faults. */
final class Control {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final URI ADDRESS = URI.create(Account.variable("AZURE_TABLE_TEST_CONTROL"));

    private Control() {
    }

    /** Adds a fault. It applies to the table that it names, so that other tests do not receive it. */
    static void inject(String fault) {
        HttpRequest request = HttpRequest.newBuilder(ADDRESS.resolve("/faults"))
                .POST(HttpRequest.BodyPublishers.ofString(fault))
                .build();
        try {
            HttpResponse<String> response = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() / 100 != 2) {
                throw new IllegalStateException(response.body());
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
