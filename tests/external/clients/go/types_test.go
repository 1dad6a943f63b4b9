package clients

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/stretchr/testify/require"
)

func TestEveryTypeIsReadAsWritten(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	moment := func(year int, month time.Month, day, hour, minute, second, nanosecond int) aztables.EDMDateTime {
		return aztables.EDMDateTime(time.Date(year, month, day, hour, minute, second, nanosecond, time.UTC))
	}
	everyByte := make(aztables.EDMBinary, 256)
	for index := range everyByte {
		everyByte[index] = byte(index)
	}
	sent := aztables.EDMEntity{
		Entity: aztables.Entity{PartitionKey: "p", RowKey: "r"},
		Properties: map[string]any{
			"True": true, "False": false,
			"Int32Zero": int32(0), "Int32Least": int32(math.MinInt32), "Int32Greatest": int32(math.MaxInt32),
			"Int64Zero": aztables.EDMInt64(0), "Int64Least": aztables.EDMInt64(math.MinInt64),
			"Int64Greatest": aztables.EDMInt64(math.MaxInt64),
			"Double":        -1234.5678, "DoubleGreatest": math.MaxFloat64, "DoubleSmall": 2.2250738585072014e-308,
			"Text": "Grüße, 世界 😀 \"'\\/\t\n", "TextEmpty": "", "TextLike": "2026-01-02T03:04:05Z",
			"TextLong":   strings.Repeat("ä", 32_000),
			"Binary":     everyByte,
			"BinaryNone": aztables.EDMBinary{}, "BinaryLong": aztables.EDMBinary(bytes.Repeat([]byte{0xff}, 64*1024)),
			"Guid":    aztables.EDMGUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
			"GuidNil": aztables.EDMGUID("00000000-0000-0000-0000-000000000000"),
			"Time":    moment(2026, 1, 2, 3, 4, 5, 678_901_200), "TimeWhole": moment(2026, 1, 2, 3, 4, 5, 0),
			"TimeFirst": moment(1601, 1, 1, 0, 0, 0, 0), "TimeLast": moment(9999, 12, 31, 23, 59, 59, 999_999_900),
		},
	}
	table.add(t, sent)
	require.Equal(t, sent.Properties, table.get(t, "p", "r").Properties)

	pager := table.NewListEntitiesPager(nil)
	page, err := pager.NextPage(t.Context())
	require.NoError(t, err)
	require.Len(t, page.Entities, 1)
	require.Equal(t, sent.Properties, decode[aztables.EDMEntity](t, page.Entities[0]).Properties)
}

// The client has no type for these: EDMEntity leaves them nil. Callers see them in the JSON.
func TestDoublesThatAreNoNumbersAreText(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	doubles := properties{"A": "NaN", "B": "Infinity", "C": "-Infinity"}
	sent := entity("p", "r", doubles)
	for name := range doubles {
		sent[name+"@odata.type"] = "Edm.Double"
	}
	table.add(t, sent)
	response, err := table.GetEntity(t.Context(), "p", "r", nil)
	require.NoError(t, err)
	received := decode[properties](t, response.Value)
	for name, value := range doubles {
		require.Equal(t, value, received[name])
		require.Equal(t, "Edm.Double", received[name+"@odata.type"])
	}
}

func TestDoubleWithoutFractionStaysDouble(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	// Go encodes float64(5) as 5, which the service stores as Int32 without this annotation.
	table.add(t, entity("p", "r", properties{"Value": 5.0, "Value@odata.type": "Edm.Double"}))
	response, err := table.GetEntity(t.Context(), "p", "r", nil)
	require.NoError(t, err)
	require.Equal(t, 5.0, decode[properties](t, response.Value)["Value"])
	require.Equal(t, []string{"r"}, table.rows(t, filter("Value eq 5.0")))
	require.Equal(t, []string{"r"}, table.rows(t, filter("Value gt 4.5 and Value lt 5.5")))
}

func TestAbsentValuesAreNotStored(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	table.add(t, entity("p", "r", properties{"None": nil, "Some": "x"}))
	require.Equal(t, map[string]any{"Some": "x"}, table.get(t, "p", "r").Properties)
}

func TestInvalidValuesAreRejected(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for edm, value := range map[string]string{
		"Edm.Int64": "9223372036854775808", "Edm.Guid": "no", "Edm.DateTime": "yesterday", "Edm.Boolean": "maybe",
	} {
		_, err := table.AddEntity(t.Context(), encode(t, entity("p", "r", properties{"V": value, "V@odata.type": edm})), nil)
		requireError(t, err, 400, aztables.InvalidInput)
	}
}

func TestTooLargeValuesAreRejected(t *testing.T) {
	t.Parallel()
	skipOnCosmos(t, "a property may be larger")
	table := newTable(t)
	for _, value := range []any{strings.Repeat("x", 32*1024+1), aztables.EDMBinary(make([]byte, 64*1024+1))} {
		key := aztables.Entity{PartitionKey: "p", RowKey: "r"}
		sent := aztables.EDMEntity{Entity: key, Properties: map[string]any{"V": value}}
		_, err := table.AddEntity(t.Context(), encode(t, sent), nil)
		requireError(t, err, 400, aztables.PropertyValueTooLarge)
	}
}
