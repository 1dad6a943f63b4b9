// Package foreign uses tables as Terraform does, with giovanni. Its own tests need a subscription to Azure.
package foreign

import (
	"context"
	"net/http"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-azure-sdk/sdk/auth"
	"github.com/hashicorp/go-azure-sdk/sdk/client/dataplane/storage"
	"github.com/jackofallops/giovanni/storage/2023-11-03/table/entities"
	"github.com/jackofallops/giovanni/storage/2023-11-03/table/tables"
)

var endpoint = os.Getenv("AZURE_TABLE_FOREIGN_ENDPOINT")

// limited returns a context with the deadline that the client demands.
func limited(t *testing.T) context.Context {
	t.Helper()
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return limited
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func authorize(t *testing.T, client *storage.Client) {
	t.Helper()
	account, key := os.Getenv("AZURE_TABLE_FOREIGN_ACCOUNT"), os.Getenv("AZURE_TABLE_FOREIGN_KEY")
	authorizer, err := auth.NewSharedKeyAuthorizer(account, key, auth.SharedKeyTable)
	check(t, err)
	client.SetAuthorizer(authorizer)
}

// newTable creates a table, which is deleted after the test.
func newTable(t *testing.T, name string) *tables.Client {
	t.Helper()
	client, err := tables.NewWithBaseUri(endpoint)
	check(t, err)
	authorize(t, client.Client)
	_, err = client.Create(limited(t), name)
	check(t, err)
	t.Cleanup(func() {
		limited, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := client.Delete(limited, name)
		check(t, err)
	})
	return client
}

func TestTableIsFound(t *testing.T) {
	client := newTable(t, "found")
	_, err := client.Exists(limited(t), "found")
	check(t, err)
	missing, err := client.Exists(limited(t), "missing")
	if err == nil || missing.HttpResponse.StatusCode != http.StatusNotFound {
		t.Fatalf("a missing table is found: %v", err)
	}
	for _, level := range []tables.MetaDataLevel{tables.NoMetaData, tables.MinimalMetaData, tables.FullMetaData} {
		listed, err := client.Query(limited(t), tables.QueryInput{MetaDataLevel: level})
		check(t, err)
		if !slices.ContainsFunc(listed.Tables, func(item tables.GetResultItem) bool { return item.TableName == "found" }) {
			t.Fatalf("the table is not listed: %v", listed.Tables)
		}
	}
}

func TestPoliciesAreSetAndRead(t *testing.T) {
	client := newTable(t, "policies")
	policies := []tables.SignedIdentifier{{
		Id: "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=",
		AccessPolicy: tables.AccessPolicy{
			Permission: "raud", Start: "2020-11-26T08:49:37.0000000Z", Expiry: "2020-11-27T08:49:37.0000000Z",
		},
	}}
	_, err := client.SetACL(limited(t), "policies", policies)
	check(t, err)
	stored, err := client.GetACL(limited(t), "policies")
	check(t, err)
	if !reflect.DeepEqual(stored.SignedIdentifiers, policies) {
		t.Fatalf("%v is read as %v", policies, stored.SignedIdentifiers)
	}
}

func TestServicePropertiesAreSetAndRead(t *testing.T) {
	client := newTable(t, "properties")
	week := tables.RetentionPolicy{Enabled: true, Days: 7}
	rule := tables.CorsRule{
		AllowedMethods: "GET,PUT", AllowedOrigins: "http://www.example.com", ExposedHeaders: "x-tempo-*",
		AllowedHeaders: "x-tempo-*", MaxAgeInSeconds: 500,
	}
	_, err := client.SetServiceProperties(limited(t), tables.SetStorageServicePropertiesInput{
		Properties: tables.StorageServiceProperties{
			Logging:       &tables.LoggingConfig{Version: "1.0", Delete: true, Read: true, Write: true, RetentionPolicy: week},
			HourMetrics:   &tables.MetricsConfig{Version: "1.0", RetentionPolicy: week},
			MinuteMetrics: &tables.MetricsConfig{Version: "1.0", RetentionPolicy: week},
			Cors:          &tables.Cors{CorsRule: []tables.CorsRule{rule}},
		},
	})
	check(t, err)
	stored, err := client.GetServiceProperties(limited(t))
	check(t, err)
	if !reflect.DeepEqual(stored.Cors.CorsRule, []tables.CorsRule{rule}) || !stored.Logging.Write || stored.HourMetrics.Enabled {
		t.Fatalf("the properties are read as %v %v %v", stored.Cors, stored.Logging, stored.HourMetrics)
	}
}

func TestEntityIsWrittenAndRead(t *testing.T) {
	newTable(t, "entities")
	client, err := entities.NewWithBaseUri(endpoint)
	check(t, err)
	authorize(t, client.Client)
	requireHello := func(expected string) {
		t.Helper()
		found, err := client.Get(limited(t), "entities", entities.GetEntityInput{
			MetaDataLevel: entities.MinimalMetaData, PartitionKey: "hello", RowKey: "there",
		})
		check(t, err)
		if found.Entity["hello"] != expected {
			t.Fatalf("%q is read as %v", expected, found.Entity)
		}
	}
	_, err = client.Insert(limited(t), "entities", entities.InsertEntityInput{
		MetaDataLevel: entities.NoMetaData, PartitionKey: "hello", RowKey: "there", Entity: map[string]any{"hello": "world"},
	})
	check(t, err)
	requireHello("world")
	_, err = client.InsertOrMerge(limited(t), "entities", entities.InsertOrMergeEntityInput{
		PartitionKey: "hello", RowKey: "there", Entity: map[string]any{"hello": "merged"},
	})
	check(t, err)
	requireHello("merged")
	_, err = client.InsertOrReplace(limited(t), "entities", entities.InsertOrReplaceEntityInput{
		PartitionKey: "hello", RowKey: "there", Entity: map[string]any{"hello": "pandas"},
	})
	check(t, err)
	requireHello("pandas")

	filter := "hello eq 'pandas'"
	listed, err := client.Query(limited(t), "entities", entities.QueryEntitiesInput{MetaDataLevel: entities.NoMetaData, Filter: &filter})
	check(t, err)
	if len(listed.Entities) != 1 || listed.Entities[0]["RowKey"] != "there" {
		t.Fatalf("the query finds %v", listed.Entities)
	}
	_, err = client.Delete(limited(t), "entities", entities.DeleteEntityInput{PartitionKey: "hello", RowKey: "there"})
	check(t, err)
	listed, err = client.Query(limited(t), "entities", entities.QueryEntitiesInput{MetaDataLevel: entities.NoMetaData})
	check(t, err)
	if len(listed.Entities) != 0 {
		t.Fatalf("the deleted entity is found: %v", listed.Entities)
	}
}
