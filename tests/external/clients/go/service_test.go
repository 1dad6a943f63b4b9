package clients

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

// The only test that changes the account's properties: it runs alone, and restores them.
func TestServicePropertiesAreSetAndRead(t *testing.T) {
	skipOnCosmos(t, "it has no service properties")
	service := newService(t)
	if account.credential == "token" {
		// Which roles of Entra ID allow this is not known.
		service = newKeyService(t)
	}
	before, err := service.GetProperties(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		before.Cors = nil
		_, err := service.SetProperties(context.Background(), before.ServiceProperties, nil)
		require.NoError(t, err)
	})
	week := &aztables.RetentionPolicy{Enabled: to.Ptr(true), Days: to.Ptr(int32(7))}
	properties := aztables.ServiceProperties{
		Logging: &aztables.Logging{
			Version: to.Ptr("1.0"), Read: to.Ptr(true), Write: to.Ptr(false), Delete: to.Ptr(true),
			RetentionPolicy: week,
		},
		HourMetrics: &aztables.Metrics{
			Version: to.Ptr("1.0"), Enabled: to.Ptr(true), IncludeAPIs: to.Ptr(true), RetentionPolicy: week,
		},
		MinuteMetrics: &aztables.Metrics{
			Version: to.Ptr("1.0"), Enabled: to.Ptr(false), RetentionPolicy: &aztables.RetentionPolicy{Enabled: to.Ptr(false)},
		},
		Cors: []*aztables.CorsRule{{
			AllowedOrigins: to.Ptr("https://example.com"), AllowedMethods: to.Ptr("GET,PUT"),
			AllowedHeaders: to.Ptr("x-ms-meta-data*"), ExposedHeaders: to.Ptr("x-ms-meta-*"),
			MaxAgeInSeconds: to.Ptr(int32(60)),
		}},
	}
	_, err = service.SetProperties(t.Context(), properties, nil)
	require.NoError(t, err)
	after, err := service.GetProperties(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, properties, after.ServiceProperties)

	six := slices.Repeat(properties.Cors, 6)
	_, err = service.SetProperties(t.Context(), aztables.ServiceProperties{Cors: six}, nil)
	requireError(t, err, http.StatusBadRequest, aztables.InvalidXmlDocument)
}

func TestCosmosRejectsServiceProperties(t *testing.T) {
	t.Parallel()
	skipOnStorage(t)
	service := newKeyService(t)
	_, err := service.GetProperties(t.Context(), nil)
	requireError(t, err, http.StatusMethodNotAllowed, aztables.MethodNotAllowed)
	_, err = service.SetProperties(t.Context(), aztables.ServiceProperties{}, nil)
	requireError(t, err, http.StatusMethodNotAllowed, aztables.MethodNotAllowed)
}

func TestStatisticsAreReadFromTheSecondary(t *testing.T) {
	t.Parallel()
	skipOnCosmos(t, "it has no statistics")
	endpoint := strings.Replace(account.endpoint, account.key.AccountName(), account.key.AccountName()+"-secondary", 1)
	service, err := aztables.NewServiceClientWithSharedKey(endpoint, account.key, options())
	require.NoError(t, err)
	statistics, err := service.GetStatistics(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, aztables.GeoReplicationStatusLive, *statistics.GeoReplication.Status)
	require.WithinDuration(t, time.Now(), *statistics.GeoReplication.LastSyncTime, time.Hour)
}

func TestConnectionStringIsUnderstood(t *testing.T) {
	t.Parallel()
	service, err := aztables.NewServiceClientFromConnectionString(account.connectionString, options())
	require.NoError(t, err)
	table := newTable(t)
	client := service.NewClient(table.name)
	// With a host that the client does not recognize as Cosmos DB, it sends PATCH.
	_, err = client.UpsertEntity(t.Context(), encode(t, entity("p", "r", properties{"Value": 1})), nil)
	require.NoError(t, err)
	require.Equal(t, int32(1), table.get(t, "p", "r").Properties["Value"])
}
