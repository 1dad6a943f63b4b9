package clients

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

// tableNames returns the names on each page.
func tableNames(t *testing.T, service *aztables.ServiceClient, options *aztables.ListTablesOptions) [][]string {
	t.Helper()
	pages := [][]string{}
	pager := service.NewListTablesPager(options)
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		require.NoError(t, err)
		names := []string{}
		for _, found := range page.Tables {
			names = append(names, *found.Name)
		}
		pages = append(pages, names)
	}
	return pages
}

func TestTableIsCreatedListedAndDeleted(t *testing.T) {
	t.Parallel()
	service, name := newService(t), newName()
	created, err := service.CreateTable(t.Context(), name, nil)
	require.NoError(t, err)
	require.Equal(t, name, *created.TableName)
	byName := &aztables.ListTablesOptions{Filter: to.Ptr("TableName eq '" + name + "'")}
	require.Equal(t, []string{name}, slices.Concat(tableNames(t, service, byName)...))
	require.Contains(t, slices.Concat(tableNames(t, service, nil)...), name)

	_, err = service.DeleteTable(t.Context(), name, nil)
	require.NoError(t, err)
	require.Empty(t, slices.Concat(tableNames(t, service, byName)...))
	_, err = service.DeleteTable(t.Context(), name, nil)
	requireError(t, err, http.StatusNotFound, aztables.ResourceNotFound)
}

func TestTableClientCreatesAndDeletesItsTable(t *testing.T) {
	t.Parallel()
	name := newName()
	client := newService(t).NewClient(name)
	created, err := client.CreateTable(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, name, *created.TableName)
	_, err = client.CreateTable(t.Context(), nil)
	requireError(t, err, http.StatusConflict, aztables.TableAlreadyExists)
	_, err = client.Delete(t.Context(), nil)
	require.NoError(t, err)
}

func TestTablesAreListedByPages(t *testing.T) {
	t.Parallel()
	service, prefix := newService(t), newName()
	expected := []string{}
	for number := range 5 {
		name := fmt.Sprintf("%s%d", prefix, number)
		_, err := service.CreateTable(t.Context(), name, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = newService(t).DeleteTable(context.Background(), name, nil) })
		expected = append(expected, name)
	}
	byPrefix := fmt.Sprintf("TableName ge '%s' and TableName lt '%s9'", prefix, prefix)
	byTwo := &aztables.ListTablesOptions{Filter: &byPrefix, Top: to.Ptr(int32(2))}
	pages := tableNames(t, service, byTwo)
	require.ElementsMatch(t, expected, slices.Concat(pages...))
	require.Len(t, pages, 3)
	for _, page := range pages {
		require.LessOrEqual(t, len(page), 2)
	}

	first, err := service.NewListTablesPager(byTwo).NextPage(t.Context())
	require.NoError(t, err)
	rest := tableNames(t, service, &aztables.ListTablesOptions{Filter: &byPrefix, NextTableName: first.NextTableName})
	require.ElementsMatch(t, slices.Concat(pages[1:]...), slices.Concat(rest...))
}

func TestTablesHaveMetadata(t *testing.T) {
	t.Parallel()
	skipOnCosmos(t, "the client asks by $format, which it ignores")
	table := newTable(t)
	byName := to.Ptr("TableName eq '" + table.name + "'")
	for format, has := range map[aztables.MetadataFormat]bool{
		aztables.MetadataFormatFull: true, aztables.MetadataFormatNone: false,
	} {
		pager := newService(t).NewListTablesPager(&aztables.ListTablesOptions{Filter: byName, Format: &format})
		page, err := pager.NextPage(t.Context())
		require.NoError(t, err)
		require.Len(t, page.Tables, 1)
		require.Equal(t, has, len(page.Tables[0].Value) > 0, format)
		if has {
			require.Contains(t, decode[properties](t, page.Tables[0].Value)["odata.id"], "Tables('"+table.name+"')")
		}
	}
}

func TestInvalidTableNamesAreRejected(t *testing.T) {
	t.Parallel()
	skipOnCosmos(t, "names may have nearly every character")
	for name, code := range map[string]aztables.TableErrorCode{
		"1table": "InvalidResourceName", "my-table": "InvalidResourceName", "aa": aztables.OutOfRangeInput,
	} {
		_, err := newService(t).CreateTable(t.Context(), name, nil)
		requireError(t, err, http.StatusBadRequest, code)
	}
}
