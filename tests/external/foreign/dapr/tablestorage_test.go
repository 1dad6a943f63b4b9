// Package foreign runs Dapr's conformance tests of state stores with its component for Azure tables.
package foreign

import (
	"os"
	"strconv"
	"testing"

	"github.com/dapr/components-contrib/state/azure/tablestorage"
	conformance "github.com/dapr/components-contrib/tests/conformance/state"
	"github.com/dapr/kit/logger"
	"github.com/stretchr/testify/require"
)

func TestStorage(t *testing.T) {
	run(t, false, os.Getenv("AZURE_TABLE_FOREIGN_STORAGE"))
}

func TestCosmos(t *testing.T) {
	run(t, true, os.Getenv("AZURE_TABLE_FOREIGN_COSMOS"))
}

// Operations and ETag are those of Dapr's configuration tests/config/state/tests.yml.
func run(t *testing.T, isCosmos bool, endpoint string) {
	properties := map[string]string{
		"accountName":  "devstoreaccount1",
		"accountKey":   os.Getenv("AZURE_TABLE_FOREIGN_KEY"),
		"tableName":    "TestTable",
		"serviceURL":   endpoint,
		"cosmosDbMode": strconv.FormatBool(isCosmos),
	}
	config, err := conformance.NewTestConfig("azure.tablestorage", []string{"etag", "first-write"}, map[string]any{
		"badEtag": "W/\"datetime'2023-05-09T12%3A28%3A54.1442151Z'\"",
	})
	require.NoError(t, err)
	store := tablestorage.NewAzureTablesStateStore(logger.NewLogger(t.Name()))
	conformance.ConformanceTests(t, properties, store, config)
}
