package clients

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

func action(t *testing.T, kind aztables.TransactionType, row string, values properties) aztables.TransactionAction {
	t.Helper()
	return aztables.TransactionAction{ActionType: kind, Entity: encode(t, entity("p", row, values))}
}

// adds returns insertions of rows "0", "1", …
func adds(t *testing.T, count int) []aztables.TransactionAction {
	t.Helper()
	actions := []aztables.TransactionAction{}
	for number := range count {
		actions = append(actions, action(t, aztables.TransactionTypeAdd, strconv.Itoa(number), properties{"Number": number}))
	}
	return actions
}

var failedPart = regexp.MustCompile(`HTTP/1\.1 (\d+)[\s\S]*"code":"(\w+)"[\s\S]*"value":"(?:(\d+):)?`)

// requireFailedPart reads the failed part from the text of the error, which alone has its index, status and code.
func requireFailedPart(t *testing.T, err error, index string, status int, code aztables.TableErrorCode) {
	t.Helper()
	var response *azcore.ResponseError
	require.ErrorAs(t, err, &response)
	require.Equal(t, http.StatusAccepted, response.StatusCode)
	found := failedPart.FindStringSubmatch(err.Error())
	require.NotNil(t, found, err)
	require.Equal(t, []string{strconv.Itoa(status), string(code), index}, found[1:], err)
}

func TestTransactionAppliesEveryKindOfOperation(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for _, row := range []string{"merged", "replaced", "deleted", "upsert-merged"} {
		table.add(t, entity("p", row, properties{"Old": 1}))
	}
	change := properties{"New": 2}
	_, err := table.SubmitTransaction(t.Context(), []aztables.TransactionAction{
		action(t, aztables.TransactionTypeAdd, "added", change),
		action(t, aztables.TransactionTypeUpdateMerge, "merged", change),
		action(t, aztables.TransactionTypeUpdateReplace, "replaced", change),
		action(t, aztables.TransactionTypeDelete, "deleted", nil),
		action(t, aztables.TransactionTypeInsertMerge, "upsert-merged", change),
		action(t, aztables.TransactionTypeInsertReplace, "upsert-added", change),
	}, nil)
	require.NoError(t, err)
	stored := map[string]map[string]any{}
	for _, row := range table.rows(t, nil) {
		stored[row] = table.get(t, "p", row).Properties
	}
	replaced, merged := map[string]any{"New": int32(2)}, map[string]any{"Old": int32(1), "New": int32(2)}
	require.Equal(t, map[string]map[string]any{
		"added": replaced, "merged": merged, "replaced": replaced, "upsert-merged": merged, "upsert-added": replaced,
	}, stored)
}

func TestTransactionHasUpToHundredOperations(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	_, err := table.SubmitTransaction(t.Context(), adds(t, 101), nil)
	require.Error(t, err)
	require.Empty(t, table.rows(t, nil))
	_, err = table.SubmitTransaction(t.Context(), adds(t, 100), nil)
	require.NoError(t, err)
	require.Len(t, table.rows(t, nil), 100)
}

func TestTransactionOfEveryTypeIsReadAsWritten(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	sent := aztables.EDMEntity{
		Entity: aztables.Entity{PartitionKey: "p", RowKey: "r"},
		Properties: map[string]any{
			"B": true, "I": int32(-1), "L": aztables.EDMInt64(1 << 60), "D": 0.1, "S": "Grüße\r\n--batch",
			"X": aztables.EDMBinary{0, 13, 10, 255},
		},
	}
	_, err := table.SubmitTransaction(t.Context(), []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeAdd, Entity: encode(t, sent)},
	}, nil)
	require.NoError(t, err)
	require.Equal(t, sent.Properties, table.get(t, "p", "r").Properties)
}

func TestFailedPartIsToldAndNothingIsApplied(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 2, 4} {
		table := newTable(t)
		row := strconv.Itoa(at)
		table.add(t, entity("p", row, nil))
		_, err := table.SubmitTransaction(t.Context(), adds(t, 5), nil)
		requireFailedPart(t, err, row, http.StatusConflict, aztables.EntityAlreadyExists)
		require.Equal(t, []string{row}, table.rows(t, nil))
	}
}

func TestFailedConditionOfAPartIsTold(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	stale := table.add(t, entity("p", "0", nil))
	current, err := table.UpdateEntity(t.Context(), encode(t, entity("p", "0", properties{"Value": 1})), nil)
	require.NoError(t, err)
	update := func(version azcore.ETag) error {
		conditional := action(t, aztables.TransactionTypeUpdateReplace, "0", nil)
		conditional.IfMatch = &version
		_, err := table.SubmitTransaction(t.Context(), []aztables.TransactionAction{
			action(t, aztables.TransactionTypeInsertMerge, "1", nil), conditional,
		}, nil)
		return err
	}
	requireFailedPart(t, update(stale), "1", http.StatusPreconditionFailed, aztables.UpdateConditionNotSatisfied)
	require.Equal(t, []string{"0"}, table.rows(t, nil))
	require.NoError(t, update(current.ETag))
	require.Equal(t, []string{"0", "1"}, table.rows(t, nil))
}

func TestMissingEntityOfAPartIsTold(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for _, kind := range []aztables.TransactionType{
		aztables.TransactionTypeUpdateMerge, aztables.TransactionTypeUpdateReplace, aztables.TransactionTypeDelete,
	} {
		missing := action(t, kind, "missing", nil)
		missing.IfMatch = to.Ptr(azcore.ETagAny)
		_, err := table.SubmitTransaction(t.Context(), append(adds(t, 1), missing), nil)
		requireFailedPart(t, err, "1", http.StatusNotFound, aztables.ResourceNotFound)
	}
	require.Empty(t, table.rows(t, nil))
}

func TestRowTwiceInATransactionIsRejected(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	_, err := table.SubmitTransaction(t.Context(), append(adds(t, 2), adds(t, 1)...), nil)
	if account.cosmos {
		requireError(t, err, http.StatusBadRequest, aztables.InvalidDuplicateRow)
		require.ErrorContains(t, err, `"2:The batch request contains multiple changes`)
	} else {
		requireFailedPart(t, err, "2", http.StatusBadRequest, aztables.InvalidDuplicateRow)
	}
	require.Empty(t, table.rows(t, nil))
}

func TestTransactionOverTwoPartitionsIsRejected(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	other := aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: encode(t, entity("q", "r", nil))}
	_, err := table.SubmitTransaction(t.Context(), append(adds(t, 1), other), nil)
	if account.cosmos {
		requireFailedPart(t, err, "0", http.StatusBadRequest, "BadRequest")
	} else {
		requireFailedPart(t, err, "1", http.StatusBadRequest, "CommandsInBatchActOnDifferentPartitions")
	}
	require.Empty(t, table.rows(t, nil))
}

func TestTransactionOnAMissingTableIsRejected(t *testing.T) {
	t.Parallel()
	_, err := newService(t).NewClient(newName()).SubmitTransaction(t.Context(), adds(t, 2), nil)
	if account.cosmos {
		requireFailedPart(t, err, "", http.StatusNotFound, aztables.ResourceNotFound)
	} else {
		requireFailedPart(t, err, "0", http.StatusNotFound, aztables.TableNotFound)
	}
}

func TestEmptyTransactionIsRejectedByTheClient(t *testing.T) {
	t.Parallel()
	_, err := newTable(t).SubmitTransaction(t.Context(), nil, nil)
	require.ErrorContains(t, err, "transaction cannot be empty")
}

func TestLargeTransactionIsApplied(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	actions := []aztables.TransactionAction{}
	for number := range 50 {
		binary := aztables.EDMEntity{
			Entity:     aztables.Entity{PartitionKey: "p", RowKey: fmt.Sprintf("%02d", number)},
			Properties: map[string]any{"Binary": aztables.EDMBinary(make([]byte, 16*1024))},
		}
		add := aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: encode(t, binary)}
		actions = append(actions, add)
	}
	_, err := table.SubmitTransaction(t.Context(), actions, nil)
	require.NoError(t, err)
	require.Len(t, table.rows(t, nil), 50)
}
