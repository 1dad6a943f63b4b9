package tables;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The emulator's control port, which injects faults. */
final class Control {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final URI FAULTS = URI.create(Account.variable("AZURE_TABLE_TEST_CONTROL")).resolve("/faults");
    private static final Pattern ID = Pattern.compile("\"id\":(\\d+)");

    private Control() {
    }

    /** Adds a fault, in JSON. Returns its address. */
    static URI inject(String fault) {
        HttpRequest request = HttpRequest.newBuilder(FAULTS).POST(HttpRequest.BodyPublishers.ofString(fault)).build();
        String added = send(request);
        Matcher id = ID.matcher(added);
        if (!id.find()) {
            throw new IllegalStateException(added);
        }
        return FAULTS.resolve("/faults/" + id.group(1));
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
