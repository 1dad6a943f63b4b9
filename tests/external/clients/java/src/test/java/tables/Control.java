package tables;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.regex.Pattern;

/** The emulator's control port, which injects faults. */
final class Control {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final URI FAULTS = URI.create(Account.variable("AZURE_TABLE_TEST_CONTROL")).resolve("/faults");
    private static final Pattern ID = Pattern.compile("\"id\":(\\d+)");

    private Control() {
    }

    /** Adds a fault of requests to the table, by its members in JSON. Returns its address. */
    static URI inject(String table, String members) {
        String fault = "{%s,\"table\":\"%s\"}".formatted(members, table);
        HttpRequest request = HttpRequest.newBuilder(FAULTS).POST(HttpRequest.BodyPublishers.ofString(fault)).build();
        // The response lists all faults, one a line, those of other tests too.
        return send(request).lines()
                .filter(line -> line.contains(table))
                .map(line -> ID.matcher(line).results().findFirst().orElseThrow().group(1))
                .map(id -> FAULTS.resolve("/faults/" + id))
                .reduce((earlier, later) -> later)
                .orElseThrow();
    }

    static void remove(URI fault) {
        send(HttpRequest.newBuilder(fault).DELETE().build());
    }

    private static String send(HttpRequest request) {
        try {
            HttpResponse<String> response = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() / 100 != 2) {
                throw new IllegalStateException(response.body());
            }
            return response.body();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
