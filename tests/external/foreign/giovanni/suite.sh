# Operations on tables as Terraform calls them, with its client giovanni.

install() {
    command -v go >/dev/null || fail "go is missing: install Go 1.26 or later"
    say "installing with go mod download"
    quietly "go mod download" go mod download
}

run() {
    # For devstoreaccount1, the client signs another path.
    local account=faketableaccount key=ZmFrZXRhYmxlc2FjY291bnRrZXk=
    certificate localhost
    export AZURE_TABLE_EMULATOR_ACCOUNTS=$account:$key
    serve storage
    SSL_CERT_FILE=$scratch/certificate.pem AZURE_TABLE_FOREIGN_ENDPOINT=https://localhost:$port/$account \
        AZURE_TABLE_FOREIGN_ACCOUNT=$account AZURE_TABLE_FOREIGN_KEY=$key go test -count=1 "$@" ./...
}
