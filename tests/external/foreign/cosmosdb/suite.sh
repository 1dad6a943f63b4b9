# The tests of azure-cosmosdb-table, the Python client before azure-data-tables, as they run on live accounts.

install() {
    install_python
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
