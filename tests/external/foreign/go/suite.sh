# The tests of aztables, as they run on live accounts: their hosts lead to two emulators, over HTTPS.
# hosts_test.go replaces the hosts and the source of tokens.

install() {
    local module=github.com/Azure/azure-sdk-for-go/sdk/data/aztables folder
    command -v go >/dev/null || fail "go is missing: install Go 1.26 or later"
    say "installing with go mod download"
    quietly "go mod download" go mod download
    folder=$(go list -m -f '{{.Dir}}' "$module")
    rm -rf source
    cp -r "$folder" source
    chmod -R u+w source
    cp hosts_test.go source/
    # The live service applies changes of properties and policies after up to a minute.
    sed -i 's/recording\.Sleep(/&0 * /' source/*_test.go
    (cd source && quietly "go mod download" go mod download)
    go build -o source/.expected ./expected
}

run() {
    local storage=table.core.windows.net cosmos=table.cosmos.azure.com key=ZmFrZXRhYmxlc2FjY291bnRrZXk= hosts
    certificate "*.$storage" "*.$cosmos"
    export AZURE_TABLE_EMULATOR_ACCOUNTS=faketableaccount:$key
    serve storage --token-audience https://storage.azure.com
    hosts=".$storage=127.0.0.1:$port"
    export AZURE_TABLE_EMULATOR_ACCOUNTS=fakecosmosaccount:$key
    serve cosmos --profile cosmos --token-audience https://cosmos.azure.com
    hosts+=" .$cosmos=127.0.0.1:$port"
    (
        cd source
        AZURE_RECORD_MODE=live SSL_CERT_FILE=$scratch/certificate.pem \
            TABLES_STORAGE_ACCOUNT_NAME=faketableaccount TABLES_PRIMARY_STORAGE_ACCOUNT_KEY=$key \
            TABLES_COSMOS_ACCOUNT_NAME=fakecosmosaccount TABLES_PRIMARY_COSMOS_ACCOUNT_KEY=$key \
            AZURE_TABLE_FOREIGN_HOSTS=$hosts AZURE_TABLE_FOREIGN_EXPECTED=../expected.txt ./.expected "$@"
    )
}
