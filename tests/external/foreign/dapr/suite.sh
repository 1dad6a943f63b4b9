# The conformance tests of Dapr for state stores, with its component for Azure tables, on Storage and Cosmos DB.

install() {
    command -v go >/dev/null || fail "go is missing: install Go 1.26 or later"
    say "installing with go mod download"
    quietly "go mod download" go mod download
}

run() {
    local storage
    certificate localhost
    serve storage
    storage=$port
    serve cosmos --profile cosmos
    # This account and its key are public.
    SSL_CERT_FILE=$scratch/certificate.pem \
        AZURE_TABLE_FOREIGN_KEY=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw== \
        AZURE_TABLE_FOREIGN_STORAGE=https://localhost:$storage/devstoreaccount1 \
        AZURE_TABLE_FOREIGN_COSMOS=https://localhost:$port/devstoreaccount1 \
        go test -count=1 "$@" ./...
}
