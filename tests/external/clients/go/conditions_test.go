package clients

import (
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

func TestUpdateWithCurrentETagSucceedsOnce(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for _, mode := range aztables.PossibleUpdateModeValues() {
		row := string(mode)
		first := table.add(t, entity("p", row, properties{"Value": 0}))
		update := func(value int) (aztables.UpdateEntityResponse, error) {
			return table.UpdateEntity(t.Context(), encode(t, entity("p", row, properties{"Value": value})),
				&aztables.UpdateEntityOptions{IfMatch: &first, UpdateMode: mode})
		}
		updated, err := update(1)
		require.NoError(t, err)
		require.NotEqual(t, first, updated.ETag)
		_, err = update(2)
		requireError(t, err, http.StatusPreconditionFailed, aztables.UpdateConditionNotSatisfied)
		stored := table.get(t, "p", row)
		require.Equal(t, int32(1), stored.Properties["Value"])
		require.Equal(t, updated.ETag, azcore.ETag(stored.ETag))
	}
}

func TestDeleteWithStaleETagIsRejected(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	stale := table.add(t, entity("p", "r", nil))
	updated, err := table.UpdateEntity(t.Context(), encode(t, entity("p", "r", properties{"Value": 1})), nil)
	require.NoError(t, err)
	_, err = table.DeleteEntity(t.Context(), "p", "r", &aztables.DeleteEntityOptions{IfMatch: &stale})
	requireError(t, err, http.StatusPreconditionFailed, aztables.UpdateConditionNotSatisfied)
	_, err = table.DeleteEntity(t.Context(), "p", "r", &aztables.DeleteEntityOptions{IfMatch: &updated.ETag})
	require.NoError(t, err)
}

func TestAnyETagMatchesOnlyAnExistingEntity(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	anyVersion := &aztables.UpdateEntityOptions{IfMatch: to.Ptr(azcore.ETagAny), UpdateMode: aztables.UpdateModeReplace}
	_, err := table.UpdateEntity(t.Context(), encode(t, entity("p", "r", nil)), anyVersion)
	requireError(t, err, http.StatusNotFound, aztables.ResourceNotFound)
	table.add(t, entity("p", "r", nil))
	_, err = table.UpdateEntity(t.Context(), encode(t, entity("p", "r", nil)), anyVersion)
	require.NoError(t, err)
}
