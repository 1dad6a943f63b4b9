package clients

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

// The client recognizes Cosmos DB by this host and port.
const cosmosEmulator = "localhost:8902"

type testAccount struct {
	connectionString string
	endpoint         string
	key              *aztables.SharedKeyCredential
	cosmos           bool
	credential       string
	token            string
	control          string
	http             *http.Client
}

// Reads the variables that `tests/external/clients/run` sets.
func accountFromEnvironment() (*testAccount, error) {
	parts := map[string]string{}
	connectionString := os.Getenv("AZURE_TABLE_TEST_CLIENTS")
	for part := range strings.SplitSeq(connectionString, ";") {
		if name, value, found := strings.Cut(part, "="); found {
			parts[name] = value
		}
	}
	endpoint, err := url.Parse(parts["TableEndpoint"])
	if err != nil || endpoint.Host == "" {
		return nil, errors.New("AZURE_TABLE_TEST_CLIENTS has to be a connection string with a TableEndpoint")
	}
	key, err := aztables.NewSharedKeyCredential(parts["AccountName"], parts["AccountKey"])
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if path := os.Getenv("AZURE_TABLE_TEST_CERTIFICATE"); path != "" {
		certificate, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if !roots.AppendCertsFromPEM(certificate) {
			return nil, fmt.Errorf("%s has no certificate in PEM", path)
		}
	}
	cosmos := os.Getenv("AZURE_TABLE_TEST_PROFILE") == "cosmos"
	dialer, address := &net.Dialer{}, endpoint.Host
	if cosmos {
		endpoint.Host = cosmosEmulator
	}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: 64,
		// The server listens on any port.
		DialContext: func(ctx context.Context, network, host string) (net.Conn, error) {
			if cosmos && host == cosmosEmulator {
				host = address
			}
			return dialer.DialContext(ctx, network, host)
		},
	}
	return &testAccount{
		connectionString: connectionString,
		// Without the slash, Client.GetTableSASURL appends the table to the account's name.
		endpoint:   strings.TrimSuffix(endpoint.String(), "/") + "/",
		key:        key,
		cosmos:     cosmos,
		credential: os.Getenv("AZURE_TABLE_TEST_CREDENTIAL"),
		token:      os.Getenv("AZURE_TABLE_TEST_TOKEN"),
		control:    os.Getenv("AZURE_TABLE_TEST_CONTROL"),
		http:       &http.Client{Transport: transport},
	}, nil
}

// options disables retries: a test that wants them sets them.
func options() *aztables.ClientOptions {
	return &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: account.http,
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}}
}

// newService creates a client with the credential that the environment names.
func newService(t *testing.T) *aztables.ServiceClient {
	t.Helper()
	return newServiceWith(t, options())
}

func newServiceWith(t *testing.T, options *aztables.ClientOptions) *aztables.ServiceClient {
	t.Helper()
	var service *aztables.ServiceClient
	var err error
	switch account.credential {
	case "key":
		service, err = aztables.NewServiceClientWithSharedKey(account.endpoint, account.key, options)
	case "sas":
		service, err = aztables.NewServiceClientWithNoCredential(account.endpoint+"?"+accountSAS(t, "rwdlacu"), options)
	case "token":
		service, err = aztables.NewServiceClient(account.endpoint, &tokens{token: account.token}, options)
	default:
		t.Fatalf("AZURE_TABLE_TEST_CREDENTIAL has to be key, sas or token, not %q", account.credential)
	}
	require.NoError(t, err)
	return service
}

// newKeyService creates a client with the account's key, for operations that need it.
func newKeyService(t *testing.T) *aztables.ServiceClient {
	t.Helper()
	service, err := aztables.NewServiceClientWithSharedKey(account.endpoint, account.key, options())
	require.NoError(t, err)
	return service
}

// accountSAS signs a SAS for all resources. ServiceClient.GetAccountSASURL allows only HTTPS.
func accountSAS(t *testing.T, permissions string) string {
	t.Helper()
	signed, err := aztables.AccountSASSignatureValues{
		Protocol:      aztables.SASProtocolHTTPSandHTTP,
		ExpiryTime:    inOneHour(),
		Permissions:   permissions,
		Services:      "t",
		ResourceTypes: "sco",
	}.Sign(account.key)
	require.NoError(t, err)
	return signed.Encode()
}

func isHTTPS() bool {
	return strings.HasPrefix(account.endpoint, "https:")
}

func skipOnCosmos(t *testing.T, reason string) {
	t.Helper()
	if account.cosmos {
		t.Skip("Cosmos DB: " + reason)
	}
}

func skipOnStorage(t *testing.T) {
	t.Helper()
	if !account.cosmos {
		t.Skip("only of Cosmos DB")
	}
}

// tokens returns one token for every scope, and notes the scopes.
type tokens struct {
	token  string
	scopes []string
}

func (tokens *tokens) GetToken(_ context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	tokens.scopes = append(tokens.scopes, options.Scopes...)
	return azcore.AccessToken{Token: tokens.token, ExpiresOn: time.Now().Add(time.Hour)}, nil
}
