package clients

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

func filter(text string) *aztables.ListEntitiesOptions {
	return &aztables.ListEntitiesOptions{Filter: &text}
}

// fill inserts entities with increasing row keys and numbers, in transactions.
func (table table) fill(t *testing.T, partition string, count int) []string {
	t.Helper()
	rows, actions := []string{}, []aztables.TransactionAction{}
	for number := range count {
		row := fmt.Sprintf("%04d", number)
		rows = append(rows, row)
		encoded := encode(t, entity(partition, row, properties{"Number": number, "Even": number%2 == 0}))
		actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: encoded})
		if len(actions) == 100 || number == count-1 {
			_, err := table.SubmitTransaction(t.Context(), actions, nil)
			require.NoError(t, err)
			actions = actions[:0]
		}
	}
	return rows
}

// pageSizes returns the number of entities on each page.
func (table table) pageSizes(t *testing.T, options *aztables.ListEntitiesOptions) []int {
	t.Helper()
	sizes := []int{}
	pager := table.NewListEntitiesPager(options)
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		require.NoError(t, err)
		sizes = append(sizes, len(page.Entities))
	}
	return sizes
}

func TestQueryReturnsRowsInOrder(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	require.Empty(t, table.rows(t, nil))
	rows := table.fill(t, "p", 10)
	require.Equal(t, rows, table.rows(t, nil))
}

func TestPagesHaveAtMostTopEntities(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	rows := table.fill(t, "p", 10)
	byFour := &aztables.ListEntitiesOptions{Top: to.Ptr(int32(4))}
	require.Equal(t, []int{4, 4, 2}, table.pageSizes(t, byFour))
	require.Equal(t, rows, table.rows(t, byFour))
}

func TestPagesHaveAtMostThousandEntities(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	rows := table.fill(t, "p", 1_100)
	require.Equal(t, []int{1_000, 100}, table.pageSizes(t, nil))
	require.Equal(t, rows, table.rows(t, nil))
}

func TestQueryContinuesWithTheKeysOfAPage(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	rows := append(table.fill(t, "a", 5), table.fill(t, "b", 5)...)
	first, err := table.NewListEntitiesPager(&aztables.ListEntitiesOptions{Top: to.Ptr(int32(7))}).NextPage(t.Context())
	require.NoError(t, err)
	require.Len(t, first.Entities, 7)
	rest := &aztables.ListEntitiesOptions{NextPartitionKey: first.NextPartitionKey, NextRowKey: first.NextRowKey}
	require.Equal(t, rows[7:], table.rows(t, rest))
}

func TestSelectedPropertiesAreReturned(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	table.add(t, entity("p", "r", properties{"A": "a", "B": "b", "C": "c"}))
	pager := table.NewListEntitiesPager(&aztables.ListEntitiesOptions{
		Select: to.Ptr("RowKey,A,C"), Format: to.Ptr(aztables.MetadataFormatNone),
	})
	page, err := pager.NextPage(t.Context())
	require.NoError(t, err)
	require.Len(t, page.Entities, 1)
	found := decode[properties](t, page.Entities[0])
	delete(found, "odata.etag") // Cosmos DB ignores the client's $format.
	require.Equal(t, properties{"RowKey": "r", "A": "a", "C": "c"}, found)
}

func TestFiltersCompareEveryType(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for index, values := range []map[string]any{
		{
			"B": true, "I": int32(1), "L": aztables.EDMInt64(1 << 40), "D": 1.5, "S": "it's",
			"G": aztables.EDMGUID("c9da6455-213d-42c9-9a79-3e9149a57833"), "X": aztables.EDMBinary("foo"),
		},
		{
			"B": false, "I": int32(-2), "L": aztables.EDMInt64(-1 << 40), "D": -2.5, "S": "é +&",
			"G": aztables.EDMGUID("00000000-0000-0000-0000-000000000000"), "X": aztables.EDMBinary("bar"),
		},
	} {
		key := aztables.Entity{PartitionKey: "p", RowKey: strconv.Itoa(index + 1)}
		table.add(t, aztables.EDMEntity{Entity: key, Properties: values})
	}
	for text, expected := range map[string][]string{
		"B eq true":                             {"1"},
		"I eq -2":                               {"2"},
		"I ge -2 and I le 1":                    {"1", "2"},
		"L gt 1099511627775L":                   {"1"},
		"D lt 0.5":                              {"2"},
		"S eq 'it''s'":                          {"1"},
		"S eq 'é +&'":                           {"2"},
		"S ne 'x'":                              {"1", "2"},
		"X eq X'666f6f'":                        {"1"},
		"not (I eq 1)":                          {"2"},
		"I eq 1 or (I lt 0 and D gt 99)":        {"1"},
		"Missing eq 1":                          {},
		"PartitionKey eq 'p' and RowKey ge '2'": {"2"},
		"G eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'": {"1"},
	} {
		require.Equal(t, expected, table.rows(t, filter(text)), text)
	}
}

func TestFilterWithTopFindsAllRows(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	rows := table.fill(t, "p", 20)
	even := &aztables.ListEntitiesOptions{Filter: to.Ptr("Even eq true"), Top: to.Ptr(int32(3))}
	expected := []string{}
	for number := 0; number < len(rows); number += 2 {
		expected = append(expected, rows[number])
	}
	require.Equal(t, expected, table.rows(t, even))
}

func TestInvalidFilterIsRejected(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	_, err := table.NewListEntitiesPager(filter("Number is 5")).NextPage(t.Context())
	requireError(t, err, http.StatusBadRequest, aztables.InvalidInput)
}
