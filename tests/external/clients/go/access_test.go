package clients

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

// withSAS returns a client of the table that has only this SAS. Its protocols are not restricted.
func withSAS(t *testing.T, table table, values aztables.SASSignatureValues) *aztables.Client {
	t.Helper()
	if values.Identifier == "" && values.ExpiryTime.IsZero() {
		values.ExpiryTime = inOneHour()
	}
	values.TableName = table.name
	signed, err := values.Sign(account.key)
	require.NoError(t, err)
	client, err := aztables.NewClientWithNoCredential(account.endpoint+table.name+"?"+signed, options())
	require.NoError(t, err)
	return client
}

// denied returns the code of a request that a valid SAS does not allow.
func denied() aztables.TableErrorCode {
	if account.cosmos {
		return "Forbidden"
	}
	return "AuthorizationPermissionMismatch"
}

func TestTableSASAllowsItsPermissions(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	table.add(t, entity("p", "0", nil))
	sent := encode(t, entity("p", "1", nil))

	reader := withSAS(t, table, aztables.SASSignatureValues{Permissions: "r"})
	_, err := reader.GetEntity(t.Context(), "p", "0", nil)
	require.NoError(t, err)
	_, err = reader.AddEntity(t.Context(), sent, nil)
	requireError(t, err, http.StatusForbidden, denied())
	_, err = reader.DeleteEntity(t.Context(), "p", "0", nil)
	requireError(t, err, http.StatusForbidden, denied())

	writer := withSAS(t, table, aztables.SASSignatureValues{Permissions: "aud"})
	_, err = writer.SubmitTransaction(t.Context(), adds(t, 3)[1:], nil)
	require.NoError(t, err)
	_, err = writer.UpsertEntity(t.Context(), sent, nil)
	require.NoError(t, err)
	_, err = writer.GetEntity(t.Context(), "p", "0", nil)
	requireError(t, err, http.StatusForbidden, denied())
	require.Equal(t, []string{"0", "1", "2"}, table.rows(t, nil))
}

func TestSASOfAnotherTableOrTimeIsRejected(t *testing.T) {
	t.Parallel()
	first, second := newTable(t), newTable(t)
	ended := time.Now().UTC().Add(-time.Minute)
	expired := withSAS(t, first, aztables.SASSignatureValues{Permissions: "r", ExpiryTime: ended})
	_, err := expired.NewListEntitiesPager(nil).NextPage(t.Context())
	requireError(t, err, http.StatusForbidden, "AuthenticationFailed")

	values := aztables.SASSignatureValues{Permissions: "r", ExpiryTime: inOneHour(), TableName: first.name}
	signed, err := values.Sign(account.key)
	require.NoError(t, err)
	client, err := aztables.NewClientWithNoCredential(account.endpoint+second.name+"?"+signed, options())
	require.NoError(t, err)
	_, err = client.NewListEntitiesPager(nil).NextPage(t.Context())
	require.ErrorContains(t, err, "RESPONSE 403")
}

// The client signs the name of the table in lower case.
func TestSASOfATableWithCapitals(t *testing.T) {
	t.Parallel()
	service, name := newKeyService(t), "Go"+newName()
	_, err := service.CreateTable(t.Context(), name, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = service.DeleteTable(context.Background(), name, nil) })
	reader := withSAS(t, table{service.NewClient(name), name}, aztables.SASSignatureValues{Permissions: "r"})
	_, err = reader.NewListEntitiesPager(nil).NextPage(t.Context())
	require.NoError(t, err)
}

// withRange returns a client of the table whose SAS allows the rows "0001" to "0003".
func withRange(t *testing.T, table table) *aztables.Client {
	t.Helper()
	signed, err := aztables.SASSignatureValues{
		TableName: table.name, ExpiryTime: inOneHour(), Permissions: "ra",
		StartPartitionKey: "p", StartRowKey: "0001", EndPartitionKey: "p", EndRowKey: "0003",
	}.Sign(account.key)
	require.NoError(t, err)
	// The client signs the range, but leaves it out of the URL.
	signed += "&spk=p&srk=0001&epk=p&erk=0003"
	ranged, err := aztables.NewClientWithNoCredential(account.endpoint+table.name+"?"+signed, options())
	require.NoError(t, err)
	return ranged
}

func TestSASWithARangeOfKeysAllowsItsRows(t *testing.T) {
	t.Parallel()
	skipOnCosmos(t, "it has no SAS with a range")
	table := newTable(t)
	table.fill(t, "p", 5)
	ranged := withRange(t, table)
	page, err := ranged.NewListEntitiesPager(nil).NextPage(t.Context())
	require.NoError(t, err)
	require.Len(t, page.Entities, 3)
	_, err = ranged.AddEntity(t.Context(), encode(t, entity("p", "9", nil)), nil)
	requireError(t, err, http.StatusForbidden, "AuthorizationFailure")
}

func TestCosmosRejectsSASWithARangeOfKeys(t *testing.T) {
	t.Parallel()
	skipOnStorage(t)
	_, err := withRange(t, newTable(t)).NewListEntitiesPager(nil).NextPage(t.Context())
	requireError(t, err, http.StatusMethodNotAllowed, aztables.MethodNotAllowed)
}

func TestClientsSignSASByThemselves(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	table.add(t, entity("p", "r", nil))
	service := newKeyService(t)
	start := time.Now().UTC().Add(-time.Minute)
	url, err := service.NewClient(table.name).GetTableSASURL(aztables.SASPermissions{Read: true}, start, inOneHour())
	require.NoError(t, err)
	ofTable, err := aztables.NewClientWithNoCredential(url, options())
	require.NoError(t, err)
	_, err = ofTable.GetEntity(t.Context(), "p", "r", nil)
	require.NoError(t, err)

	objects, reading := aztables.AccountSASResourceTypes{Object: true}, aztables.AccountSASPermissions{Read: true}
	url, err = service.GetAccountSASURL(objects, reading, start, inOneHour())
	require.NoError(t, err)
	ofAccount, err := aztables.NewServiceClientWithNoCredential(url, options())
	require.NoError(t, err)
	_, err = ofAccount.NewClient(table.name).GetEntity(t.Context(), "p", "r", nil)
	if isHTTPS() {
		require.NoError(t, err)
	} else {
		// It allows HTTPS alone.
		require.ErrorContains(t, err, "RESPONSE 403")
	}
}

func TestAccountSASAllowsItsPermissions(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	table.add(t, entity("p", "r", nil))
	reader, err := aztables.NewServiceClientWithNoCredential(account.endpoint+"?"+accountSAS(t, "rl"), options())
	require.NoError(t, err)
	_, err = reader.NewClient(table.name).GetEntity(t.Context(), "p", "r", nil)
	require.NoError(t, err)
	_, err = reader.NewClient(table.name).AddEntity(t.Context(), encode(t, entity("p", "s", nil)), nil)
	requireError(t, err, http.StatusForbidden, denied())
	_, err = reader.CreateTable(t.Context(), newName(), nil)
	requireError(t, err, http.StatusForbidden, denied())
}

func TestWrongKeyIsRejected(t *testing.T) {
	t.Parallel()
	wrong, err := aztables.NewSharedKeyCredential(account.key.AccountName(), "d3Jvbmc=")
	require.NoError(t, err)
	service, err := aztables.NewServiceClientWithSharedKey(account.endpoint, wrong, options())
	require.NoError(t, err)
	_, err = service.NewListTablesPager(nil).NextPage(t.Context())
	code := aztables.TableErrorCode("AuthenticationFailed")
	if account.cosmos {
		code = "Forbidden"
	}
	requireError(t, err, http.StatusForbidden, code)
}

func TestPoliciesAreSetAndRead(t *testing.T) {
	t.Parallel()
	skipOnCosmos(t, "it has no stored access policies")
	table := newTable(t)
	client := newKeyService(t).NewClient(table.name)
	empty, err := client.GetAccessPolicy(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, empty.SignedIdentifiers)

	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	policy := func(id, permission string, expiry time.Time) *aztables.SignedIdentifier {
		return &aztables.SignedIdentifier{ID: &id, AccessPolicy: &aztables.AccessPolicy{
			Start: &start, Expiry: &expiry, Permission: &permission,
		}}
	}
	policies := []*aztables.SignedIdentifier{
		policy("first", "raud", start.AddDate(1, 0, 0)), policy("second", "r", start.AddDate(2, 0, 0)),
	}
	_, err = client.SetAccessPolicy(t.Context(), &aztables.SetAccessPolicyOptions{TableACL: policies})
	require.NoError(t, err)
	stored, err := client.GetAccessPolicy(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, policies, stored.SignedIdentifiers)

	six := slices.Repeat(policies, 3)
	_, err = client.SetAccessPolicy(t.Context(), &aztables.SetAccessPolicyOptions{TableACL: six})
	require.ErrorContains(t, err, "more than five (5) access policies")
}

func TestPolicyGivesAndTakesRights(t *testing.T) {
	t.Parallel()
	skipOnCosmos(t, "it has no stored access policies")
	table := newTable(t)
	client := newKeyService(t).NewClient(table.name)
	set := func(policies ...*aztables.SignedIdentifier) {
		_, err := client.SetAccessPolicy(t.Context(), &aztables.SetAccessPolicyOptions{TableACL: policies})
		require.NoError(t, err)
	}
	// The service does not accept nanoseconds.
	now := time.Now().Truncate(time.Second)
	set(&aztables.SignedIdentifier{ID: to.Ptr("reader"), AccessPolicy: &aztables.AccessPolicy{
		Start: to.Ptr(now.Add(-time.Minute)), Expiry: to.Ptr(now.Add(time.Hour)), Permission: to.Ptr("r"),
	}})
	reader := withSAS(t, table, aztables.SASSignatureValues{Identifier: "reader"})
	_, err := reader.NewListEntitiesPager(nil).NextPage(t.Context())
	require.NoError(t, err)
	_, err = reader.AddEntity(t.Context(), encode(t, entity("p", "r", nil)), nil)
	requireError(t, err, http.StatusForbidden, denied())
	set()
	_, err = reader.NewListEntitiesPager(nil).NextPage(t.Context())
	requireError(t, err, http.StatusForbidden, "AuthenticationFailed")
}
