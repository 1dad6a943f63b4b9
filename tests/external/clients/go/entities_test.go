package clients

import (
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

// product is an entity with a type of its own, as the client's documentation shows it.
type product struct {
	aztables.Entity
	Name       string
	Stock      int32
	Price      float64
	OnSale     bool
	Pieces     aztables.EDMInt64
	PiecesType string `json:"Pieces@odata.type"`
}

func TestInsertedEntityIsRead(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	sent := product{aztables.Entity{PartitionKey: "tools", RowKey: "1"}, "Hammer", 7, 12.5, true, 1 << 40, "Edm.Int64"}
	before := time.Now().Add(-time.Minute)
	inserted, err := table.AddEntity(t.Context(), encode(t, sent), nil)
	require.NoError(t, err)
	require.NotEmpty(t, inserted.ETag)

	response, err := table.GetEntity(t.Context(), "tools", "1", nil)
	require.NoError(t, err)
	require.Equal(t, inserted.ETag, response.ETag)
	received := decode[product](t, response.Value)
	require.True(t, time.Time(received.Timestamp).After(before))
	received.Timestamp = sent.Timestamp
	require.Equal(t, sent, received)
}

func TestInsertReturnsTheEntity(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	response, err := table.AddEntity(t.Context(), encode(t, entity("p", "r", properties{"Value": 1})), nil)
	require.NoError(t, err)
	returned := decode[aztables.EDMEntity](t, response.Value)
	require.Equal(t, map[string]any{"Value": int32(1)}, returned.Properties)
	require.Equal(t, response.ETag, azcore.ETag(returned.ETag))
	require.Contains(t, returned.Metadata, "$metadata#"+table.name)
}

func TestExistingEntityIsNotInsertedAgain(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	table.add(t, entity("p", "r", properties{"Value": 1}))
	_, err := table.AddEntity(t.Context(), encode(t, entity("p", "r", properties{"Value": 2})), nil)
	requireError(t, err, http.StatusConflict, aztables.EntityAlreadyExists)
	require.Equal(t, int32(1), table.get(t, "p", "r").Properties["Value"])
}

func TestMergeKeepsOtherPropertiesAndReplaceRemovesThem(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	table.add(t, entity("p", "r", properties{"A": "a", "B": "b"}))
	update := func(mode aztables.UpdateMode, values properties) {
		options := &aztables.UpdateEntityOptions{UpdateMode: mode}
		_, err := table.UpdateEntity(t.Context(), encode(t, entity("p", "r", values)), options)
		require.NoError(t, err)
	}
	update(aztables.UpdateModeMerge, properties{"B": "new", "C": "c"})
	require.Equal(t, map[string]any{"A": "a", "B": "new", "C": "c"}, table.get(t, "p", "r").Properties)
	update(aztables.UpdateModeReplace, properties{"B": "last"})
	require.Equal(t, map[string]any{"B": "last"}, table.get(t, "p", "r").Properties)

	// Without options, it merges.
	_, err := table.UpdateEntity(t.Context(), encode(t, entity("p", "r", properties{"D": "d"})), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"B": "last", "D": "d"}, table.get(t, "p", "r").Properties)
}

func TestUpsertInsertsAndUpdates(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for mode, updated := range map[aztables.UpdateMode]map[string]any{
		aztables.UpdateModeMerge:   {"A": "a", "B": "b"},
		aztables.UpdateModeReplace: {"B": "b"},
	} {
		row := string(mode)
		for _, values := range []properties{{"A": "a"}, {"B": "b"}} {
			options := &aztables.UpsertEntityOptions{UpdateMode: mode}
			response, err := table.UpsertEntity(t.Context(), encode(t, entity("p", row, values)), options)
			require.NoError(t, err)
			require.Equal(t, response.ETag, azcore.ETag(table.get(t, "p", row).ETag))
		}
		require.Equal(t, updated, table.get(t, "p", row).Properties)
	}
}

func TestDeletedEntityIsGone(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	table.add(t, entity("p", "r", nil))
	_, err := table.DeleteEntity(t.Context(), "p", "r", nil)
	require.NoError(t, err)
	_, err = table.GetEntity(t.Context(), "p", "r", nil)
	requireError(t, err, http.StatusNotFound, aztables.ResourceNotFound)
	_, err = table.DeleteEntity(t.Context(), "p", "r", nil)
	requireError(t, err, http.StatusNotFound, aztables.ResourceNotFound)
}

func TestMissingEntityIsNotUpdated(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for _, mode := range aztables.PossibleUpdateModeValues() {
		options := &aztables.UpdateEntityOptions{UpdateMode: mode}
		_, err := table.UpdateEntity(t.Context(), encode(t, entity("p", "r", nil)), options)
		requireError(t, err, http.StatusNotFound, aztables.ResourceNotFound)
	}
}

func TestMissingTableIsReported(t *testing.T) {
	t.Parallel()
	missing := newService(t).NewClient(newName())
	_, err := missing.AddEntity(t.Context(), encode(t, entity("p", "r", nil)), nil)
	code := aztables.TableNotFound
	if account.cosmos {
		code = aztables.ResourceNotFound
	}
	requireError(t, err, http.StatusNotFound, code)
}

func TestMetadataIsAsRequested(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	table.add(t, entity("p", "r", properties{"Value": 1}))
	// The client asks by $format alone. Its Accept is always minimalmetadata, which Cosmos DB follows.
	members := func(format aztables.MetadataFormat) properties {
		response, err := table.GetEntity(t.Context(), "p", "r", &aztables.GetEntityOptions{Format: &format})
		require.NoError(t, err)
		return decode[properties](t, response.Value)
	}
	if account.cosmos {
		minimal := members(aztables.MetadataFormatMinimal)
		require.Contains(t, minimal, "odata.metadata")
		require.NotContains(t, minimal, "odata.editLink")
		require.Equal(t, minimal, members(aztables.MetadataFormatNone))
		require.Equal(t, minimal, members(aztables.MetadataFormatFull))
		return
	}
	none := members(aztables.MetadataFormatNone)
	require.NotContains(t, none, "odata.metadata")
	require.Len(t, none, 4)
	minimal := members(aztables.MetadataFormatMinimal)
	require.Contains(t, minimal, "odata.metadata")
	require.NotContains(t, minimal, "odata.editLink")
	full := members(aztables.MetadataFormatFull)
	require.Equal(t, table.name+"(PartitionKey='p',RowKey='r')", full["odata.editLink"])
	require.Equal(t, "Edm.DateTime", full["Timestamp@odata.type"])
}

func TestEntityWithoutKeysIsRejected(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	_, err := table.AddEntity(t.Context(), []byte(`{"PartitionKey": "p", "Value": 1}`), nil)
	require.ErrorContains(t, err, "entity must have a PartitionKey and RowKey")
}
