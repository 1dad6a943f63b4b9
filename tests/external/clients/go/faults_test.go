package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

// inject adds a fault for the table to the emulator, until the test ends. It must have failed a request by then.
func inject(t *testing.T, table table, fault properties) {
	t.Helper()
	fault["table"] = table.name
	response, err := http.Post(account.control+"/faults", "application/json", bytes.NewReader(encode(t, fault)))
	require.NoError(t, err)
	defer response.Body.Close()
	require.Less(t, response.StatusCode, 300)
	var added struct{ ID int }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&added))
	t.Cleanup(func() {
		require.True(t, wasHit(t, added.ID), "the fault met no request")
		request, err := http.NewRequest(http.MethodDelete, fmt.Sprintf("%s/faults/%d", account.control, added.ID), nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		response.Body.Close()
	})
}

func wasHit(t *testing.T, fault int) bool {
	t.Helper()
	response, err := http.Get(account.control + "/faults")
	require.NoError(t, err)
	defer response.Body.Close()
	for lines := json.NewDecoder(response.Body); lines.More(); {
		var found struct{ ID, Hits int }
		require.NoError(t, lines.Decode(&found))
		if found.ID == fault {
			return found.Hits > 0
		}
	}
	return false
}

// retrying returns a client of the table that retries soon.
func retrying(t *testing.T, name string) *aztables.Client {
	t.Helper()
	options := options()
	options.Retry = policy.RetryOptions{MaxRetries: 3, RetryDelay: time.Millisecond, MaxRetryDelay: 5 * time.Millisecond}
	return newServiceWith(t, options).NewClient(name)
}

func busy(times int) properties {
	return properties{
		"fault": "respond", "status": 503, "code": "ServerBusy", "message": "The server is busy.", "first": times,
	}
}

func TestRetriesSurviveABusyServer(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	inject(t, table, busy(2))
	client := retrying(t, table.name)
	_, err := client.AddEntity(t.Context(), encode(t, entity("p", "r", nil)), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"r"}, table.rows(t, nil))
}

func TestTransactionIsRetried(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	inject(t, table, busy(3))
	_, err := retrying(t, table.name).SubmitTransaction(t.Context(), adds(t, 3), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"0", "1", "2"}, table.rows(t, nil))
}

func TestBusyServerIsReportedAfterTheRetries(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	inject(t, table, busy(4))
	_, err := retrying(t, table.name).GetEntity(t.Context(), "p", "r", nil)
	requireError(t, err, http.StatusServiceUnavailable, "ServerBusy")
}

func TestInjectedFailureOfAPartIsReadByItsIndex(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	inject(t, table, properties{
		"fault": "failBatchPart", "status": 412, "code": "UpdateConditionNotSatisfied",
		"message": "3:The update condition specified in the request was not satisfied.", "first": 1,
	})
	_, err := table.SubmitTransaction(t.Context(), adds(t, 5), nil)
	requireFailedPart(t, err, "3", http.StatusPreconditionFailed, aztables.UpdateConditionNotSatisfied)
	require.Empty(t, table.rows(t, nil))
	_, err = table.SubmitTransaction(t.Context(), adds(t, 5), nil)
	require.NoError(t, err)
}

// The client repeats an insert whose response is lost, and reports its own entity as a conflict.
func TestInsertWithLostResponseIsApplied(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	inject(t, table, properties{"fault": "loseResponse", "operations": []string{"insert"}, "first": 1})
	_, err := retrying(t, table.name).AddEntity(t.Context(), encode(t, entity("p", "r", nil)), nil)
	requireError(t, err, http.StatusConflict, aztables.EntityAlreadyExists)
	require.Equal(t, []string{"r"}, table.rows(t, nil))
}

func TestCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	inject(t, table, properties{"fault": "hangRequest", "first": 1})
	limited, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := table.GetEntity(limited, "p", "r", nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
