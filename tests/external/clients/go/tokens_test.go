package clients

import (
	"errors"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

func requireToken(t *testing.T) {
	t.Helper()
	if account.credential != "token" {
		t.Skip("no token: the credential is " + account.credential)
	}
}

func TestTokenIsRequestedForTheService(t *testing.T) {
	t.Parallel()
	requireToken(t)
	source := &tokens{token: account.token}
	service, err := aztables.NewServiceClient(account.endpoint, source, options())
	require.NoError(t, err)
	_, err = service.NewListTablesPager(nil).NextPage(t.Context())
	require.NoError(t, err)
	scope := "https://storage.azure.com/.default"
	if account.cosmos {
		scope = "https://cosmos.azure.com/.default"
	}
	require.Equal(t, []string{scope}, source.scopes)
}

func TestTokenForNothingIsRejected(t *testing.T) {
	t.Parallel()
	requireToken(t)
	service, err := aztables.NewServiceClient(account.endpoint, &tokens{token: "no.token"}, options())
	require.NoError(t, err)
	_, err = service.NewListTablesPager(nil).NextPage(t.Context())
	var response *azcore.ResponseError
	require.ErrorAs(t, err, &response)
	// The status depends on the version and on what is wrong with the token.
	rejected := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden}
	require.Contains(t, rejected, response.StatusCode, err)
}

func TestTokenIsNotSentInClearText(t *testing.T) {
	t.Parallel()
	service, err := aztables.NewServiceClient("http://localhost:1/account/", &tokens{token: "secret"}, options())
	require.NoError(t, err)
	_, err = service.CreateTable(t.Context(), newName(), nil)
	require.ErrorContains(t, err, "https")
	var response *azcore.ResponseError
	require.False(t, errors.As(err, &response))
}
