// Package clients tests the official Go client against the service of the environment, which
// `tests/external/clients/run` sets.
package clients

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

var account *testAccount

func TestMain(m *testing.M) {
	var err error
	if account, err = accountFromEnvironment(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// table is a client of a test's own table, with the name that the client does not tell.
type table struct {
	*aztables.Client
	name string
}

// newTable creates a table, which is deleted after the test.
func newTable(t *testing.T) table {
	t.Helper()
	service := newService(t)
	name := newName()
	_, err := service.CreateTable(t.Context(), name, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := service.DeleteTable(context.Background(), name, nil)
		require.NoError(t, err)
	})
	return table{service.NewClient(name), name}
}

func newName() string {
	random := make([]byte, 12)
	_, _ = rand.Read(random)
	return "go" + hex.EncodeToString(random)
}

// properties are the members of an entity, as a caller without a type of its own has them.
type properties map[string]any

func entity(partition, row string, values properties) properties {
	merged := properties{"PartitionKey": partition, "RowKey": row}
	for name, value := range values {
		merged[name] = value
	}
	return merged
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	return encoded
}

func decode[T any](t *testing.T, encoded []byte) T {
	t.Helper()
	var value T
	require.NoError(t, json.Unmarshal(encoded, &value))
	return value
}

func (table table) add(t *testing.T, value any) azcore.ETag {
	t.Helper()
	response, err := table.AddEntity(t.Context(), encode(t, value), nil)
	require.NoError(t, err)
	return response.ETag
}

func (table table) get(t *testing.T, partition, row string) aztables.EDMEntity {
	t.Helper()
	response, err := table.GetEntity(t.Context(), partition, row, nil)
	require.NoError(t, err)
	return decode[aztables.EDMEntity](t, response.Value)
}

// rows returns the row keys of all pages, in the order of the responses.
func (table table) rows(t *testing.T, options *aztables.ListEntitiesOptions) []string {
	t.Helper()
	rows := []string{}
	pager := table.NewListEntitiesPager(options)
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		require.NoError(t, err)
		for _, encoded := range page.Entities {
			rows = append(rows, decode[aztables.Entity](t, encoded).RowKey)
		}
	}
	return rows
}

// requireError checks that the service rejected a call with this status and code.
func requireError(t *testing.T, err error, status int, code aztables.TableErrorCode) *azcore.ResponseError {
	t.Helper()
	var response *azcore.ResponseError
	require.ErrorAs(t, err, &response)
	require.Equal(t, status, response.StatusCode, err)
	require.Equal(t, string(code), response.ErrorCode, err)
	return response
}

func inOneHour() time.Time {
	return time.Now().UTC().Add(time.Hour)
}
