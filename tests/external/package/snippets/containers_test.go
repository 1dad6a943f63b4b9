// Starts the image with Testcontainers. Compiled, not run: that needs Docker.
package tables

import (
	"testing"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

func startTables(t *testing.T) (connectionString string) {
	accounts := map[string]string{"AZURE_TABLE_EMULATOR_ACCOUNTS": "test:c2VjcmV0"}
	container, err := testcontainers.Run(t.Context(), "azure-table-emulator",
		testcontainers.WithEnv(accounts),
		testcontainers.WithExposedPorts("10002/tcp"),
		testcontainers.WithWaitStrategy(wait.ForLog("Ctrl-C stops it.")))
	testcontainers.CleanupContainer(t, container)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := container.PortEndpoint(t.Context(), "10002/tcp", "http")
	if err != nil {
		t.Fatal(err)
	}
	return "DefaultEndpointsProtocol=http;AccountName=test;AccountKey=c2VjcmV0;" +
		"TableEndpoint=" + endpoint + "/test;"
}
