# The tests of azure-cosmosdb-table, the Python client before azure-data-tables, as they run on live accounts.

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
        tar -xzf "$scratch"/azure-cosmosdb-table-*.tar.gz -C source --strip-components 1
    fi
    # Its namespaces are those of azure-common too, in the form of Python 3.
    rm -f source/azure/__init__.py source/azure/cosmosdb/__init__.py
    # The accounts and keys that its recordings have.
    cp source/tests/settings_fake.py source/tests/settings_real.py
}

run() {
    local domain=table.core.windows.net
    certificate "*.$domain"
    AZURE_TABLE_EMULATOR_ACCOUNTS=$(cd source && ../.venv/bin/python -c '
from tests import settings_fake as settings
kinds = ("", "BLOB_", "REMOTE_", "PREMIUM_")
print(*("{}:{}".format(getattr(settings, k + "STORAGE_ACCOUNT_NAME"), getattr(settings, k + "STORAGE_ACCOUNT_KEY")) for k in kinds), sep=";")')
    export AZURE_TABLE_EMULATOR_ACCOUNTS
    serve storage
    AZURE_TABLE_FOREIGN_HOSTS="{\"$domain\": $port}" AZURE_TABLE_FOREIGN_EXPECTED=$here/cosmosdb/expected.txt \
        PYTHONPATH=$here/python/standin:$here/cosmosdb/source REQUESTS_CA_BUNDLE=$scratch/certificate.pem \
        .venv/bin/python -B -m pytest -p expected -p hosts -p no:cacheprovider -q -rfEx --tb=short --disable-warnings \
        --rootdir source "${@:-source/tests}"
}
