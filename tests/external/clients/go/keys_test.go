package clients

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

// Keys with every printable character of ASCII that a key may have, in URLs and in filters.
func oddKeys() []string {
	keys := []string{
		"O'Brien", "''", " a b ", "a%20b", "100%", "%2F", "a+b", "1=1&2", ".", "..", "你好", "😀", "é", "(PartitionKey='p')",
		strings.Repeat("k", 255),
	}
	for character := ' '; character <= '~'; character++ {
		if !strings.ContainsRune(`/\#?`, character) {
			keys = append(keys, "x"+string(character)+"y")
		}
	}
	return keys
}

func TestOddKeysAreFound(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for _, key := range oddKeys() {
		table.add(t, entity(key, key, properties{"Value": key}))
		found := table.get(t, key, key)
		require.Equal(t, []string{key, key}, []string{found.PartitionKey, found.RowKey})
		require.Equal(t, key, found.Properties["Value"])
		quoted := strings.ReplaceAll(key, "'", "''")
		byKey := filter("PartitionKey eq '" + quoted + "' and RowKey eq '" + quoted + "'")
		require.Equal(t, []string{key}, table.rows(t, byKey), key)
		_, err := table.UpdateEntity(t.Context(), encode(t, entity(key, key, properties{"Value": "new"})), nil)
		require.NoError(t, err, key)
		_, err = table.UpsertEntity(t.Context(), encode(t, entity(key, key, properties{"Value": "newer"})), nil)
		require.NoError(t, err, key)
		_, err = table.DeleteEntity(t.Context(), key, key, nil)
		require.NoError(t, err, key)
	}
	require.Empty(t, table.rows(t, nil))
}

// Keys with quotes are left out: the client does not double them in the URLs of a transaction.
func TestOddKeysAreFoundInTransactions(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	keys := slices.DeleteFunc(oddKeys(), func(key string) bool { return strings.Contains(key, "'") })
	submit := func(action aztables.TransactionType) {
		for chunk := range slices.Chunk(keys, 100) {
			actions := []aztables.TransactionAction{}
			for _, key := range chunk {
				encoded := encode(t, entity("p%20&+", key, properties{"Value": key}))
				actions = append(actions, aztables.TransactionAction{ActionType: action, Entity: encoded})
			}
			_, err := table.SubmitTransaction(t.Context(), actions, nil)
			require.NoError(t, err)
		}
	}
	submit(aztables.TransactionTypeAdd)
	submit(aztables.TransactionTypeUpdateMerge)
	submit(aztables.TransactionTypeInsertReplace)
	require.ElementsMatch(t, keys, table.rows(t, nil))
	submit(aztables.TransactionTypeDelete)
	require.Empty(t, table.rows(t, nil))
}

func TestEmptyKeys(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	_, err := table.AddEntity(t.Context(), encode(t, entity("", "", properties{"Value": "x"})), nil)
	if account.cosmos {
		requireError(t, err, http.StatusBadRequest, aztables.PropertiesNeedValue)
	} else {
		require.NoError(t, err)
		// The client does not send a request for one entity with an empty key.
		require.Equal(t, []string{""}, table.rows(t, filter("PartitionKey eq '' and RowKey eq ''")))
	}
}

func TestForbiddenCharactersInKeysAreRejected(t *testing.T) {
	t.Parallel()
	skipOnCosmos(t, "the code is not known")
	table := newTable(t)
	for _, character := range "/\\#?\x00\t\x7f\u0085" {
		key := "a" + string(character) + "b"
		_, err := table.AddEntity(t.Context(), encode(t, entity("p", key, nil)), nil)
		requireError(t, err, http.StatusBadRequest, aztables.OutOfRangeInput)
	}
}
