# The tests of azure-data-tables, as they run on live accounts: their hosts lead to two emulators, over HTTPS.
# `standin` replaces the tools of the SDK's repository, which are not published.

install() {
    command -v python3 >/dev/null || fail "python3 is missing: install Python 3.11 or later, with venv and pip"
    if ! cmp -s requirements.txt .venv/.installed.txt; then
        say "installing with pip"
        rm -rf .venv source
        quietly "python3 -m venv" python3 -m venv .venv
        quietly "pip install" .venv/bin/python -m pip install --disable-pip-version-check --no-input -r requirements.txt
        cp requirements.txt .venv/.installed.txt
    fi
    if [[ ! -d source ]]; then
        say "downloading the source package"
        quietly "pip download" .venv/bin/python -m pip download --disable-pip-version-check --no-deps --no-binary :all: \
            --require-hashes -r source.txt -d "$scratch"
        mkdir source
        tar -xzf "$scratch"/azure_data_tables-*.tar.gz -C source --strip-components 1
    fi
}

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
