package aztables

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"
)

// A proxy leads the hosts of the accounts to the emulators, by `SUFFIX=ADDRESS SUFFIX=ADDRESS` in
// AZURE_TABLE_FOREIGN_HOSTS.
func init() {
	proxy := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		for entry := range strings.FieldsSeq(os.Getenv("AZURE_TABLE_FOREIGN_HOSTS")) {
			suffix, address, _ := strings.Cut(entry, "=")
			if request.Method == http.MethodConnect && strings.HasSuffix(request.Host, suffix+":443") {
				tunnel(writer, address)
				return
			}
		}
		http.Error(writer, "no emulator for "+request.Host, http.StatusBadGateway)
	}))
	_ = os.Setenv("HTTPS_PROXY", proxy.URL)
}

func tunnel(writer http.ResponseWriter, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := http.NewResponseController(writer).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

// A server stands in for the identity of an app service, from which azidentity takes the tokens. The emulator does not
// check signatures.
func init() {
	part := func(value any) string {
		encoded, _ := json.Marshal(value)
		return base64.RawURLEncoding.EncodeToString(encoded)
	}
	identity := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		now, audience := time.Now().Unix(), request.URL.Query().Get("resource")
		claims := map[string]any{"aud": audience, "nbf": now - 60, "exp": now + 36_000}
		token := part(map[string]string{"alg": "RS256", "typ": "JWT"}) + "." + part(claims) + ".c2ln"
		writer.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(writer).Encode(map[string]string{
			"access_token": token, "expires_on": fmt.Sprint(now + 36_000), "resource": audience, "token_type": "Bearer",
		})
	}))
	_ = os.Setenv("IDENTITY_ENDPOINT", identity.URL)
	_ = os.Setenv("IDENTITY_HEADER", "emulator")
	_ = os.Setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
}
