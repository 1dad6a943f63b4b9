# The tests of azure-data-tables, as they run on live accounts: their hosts lead to two emulators, over HTTPS.
# `standin` replaces the tools of the SDK's repository, which are not published.

install() { install_python; }

# The token has an audience and no signature, which the emulator does not check.
token() {
    python3 - <<'PYTHON'
import base64, json, time
def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
now = int(time.time())
print(part({"alg": "RS256"}), part({"aud": ["https://storage.azure.com", "https://cosmos.azure.com"], "nbf": now - 60, "exp": now + 36000}), "c2ln", sep=".")
PYTHON
}

run() {
    local storage=table.core.windows.net cosmos=table.cosmos.azure.com ports
    certificate "*.$storage" "*.$cosmos"
    export AZURE_TABLE_EMULATOR_ACCOUNTS=faketableaccount:faketablesaccountkey
    serve storage --token-audience https://storage.azure.com
    ports="\"$storage\": $port"
    export AZURE_TABLE_EMULATOR_ACCOUNTS=fakecosmosaccount:fakecosmosaccountkey
    serve cosmos --profile cosmos --token-audience https://cosmos.azure.com
    ports+=", \"$cosmos\": $port"
    AZURE_TABLE_FOREIGN_HOSTS="{$ports}" AZURE_TABLE_FOREIGN_TOKEN=$(token) AZURE_TABLE_FOREIGN_EXPECTED=$here/python/expected.txt PYTHONPATH=$here/python/standin \
        SSL_CERT_FILE=$scratch/certificate.pem REQUESTS_CA_BUNDLE=$scratch/certificate.pem \
        .venv/bin/python -B -m pytest -p expected -p no:cacheprovider -q -rfEx --tb=short --disable-warnings --asyncio-mode=auto \
        -o asyncio_default_fixture_loop_scope=function --rootdir source "${@:-source/tests}"
}
