# Azurite's tests of tables, each suite with its own emulator of this crate.

install() {
    local tool
    for tool in node npm; do
        command -v "$tool" >/dev/null || fail "$tool is missing: install Node.js 20 or later"
    done
    [[ -d ${AZURITE_SOURCE:-}/tests/table ]] || fail "AZURITE_SOURCE has to name a checkout of https://github.com/Azure/Azurite"
    if ! cmp -s package-lock.json node_modules/.installed-lock.json; then
        say "installing with npm ci"
        quietly "npm ci" npm ci --ignore-scripts --no-audit --no-fund
        cp package-lock.json node_modules/.installed-lock.json
    fi
    rm -rf source
    mkdir source
    (cd "$AZURITE_SOURCE" && tar -c tests/table tests/*.ts) | tar -x -C source
    # Tests of Azurite's own parts, and of its options.
    rm -rf source/tests/table/{unit,persistence,KeepAlive,dotnet,go,*.test.ts}
    cp TableTestServerFactory.ts source/tests/table/utils/
    # Requests without an SDK are signed over another path than theirs, and without a date. Azurite takes them for the shared access
    # signature that some have besides. Batches have no Content-Type. The service rejects both, whatever else the tests are about.
    # Source: REST "Authorize with Shared Key", Specifying the Date header; "Performing entity group transactions", Request headers.
    sed -i 's/^  const stringToSign = createStringToSignForSharedKeyLite/  if (headersIn.multipartContentType) headersIn["Content-Type"] = headersIn.multipartContentType;\
  headersIn["x-ms-date"] ??= new Date().toUTCString();\
  path = new URL(url).pathname.slice(productionStyle ? 1 : `\/${TableEntityTestConfig.accountName}\/`.length);\
&/' source/tests/table/utils/table.entity.tests.utils.for.rest.ts
    # The empty text is no Guid. Source: REST "Understanding the Table service data model".
    sed -i 's/{ value: "", type: "Guid" }/{ value: "d3365292-0f33-4e13-9ec6-2ea5053c32ad", type: "Guid" }/' \
        source/tests/table/models/*.ts
    # Constants and types come from Azurite as its package has it. Its server is also replaced, for tests that do not use the factory.
    cp -r node_modules/azurite/dist/src source/src
    rm source/src/table/TableServer.*
    cat >source/src/table/TableServer.ts <<'TYPESCRIPT'
import { EmulatorServer } from "../../tests/table/utils/TableTestServerFactory";
export default class TableServer extends EmulatorServer {
  constructor(_configuration: unknown) {
    super([]);
  }
}
TYPESCRIPT
}

run() {
    # The tests sign tokens with the server's key. Azurite's certificate is of X.509 v1, which TLS libraries reject.
    certificate localhost
    cp "$scratch/certificate.pem" source/tests/server.cert
    cp "$scratch/key.pem" source/tests/server.key
    (
        cd source
        AZURE_TABLE_FOREIGN_PROGRAM=$program AZURE_TABLE_FOREIGN_LOG=$here/azurite/source/emulator.log \
            NODE_EXTRA_CA_CERTS=$scratch/certificate.pem NODE_NO_WARNINGS=1 TS_NODE_TRANSPILE_ONLY=true \
            TS_NODE_COMPILER_OPTIONS='{"module": "commonjs", "target": "es2020", "esModuleInterop": true}' \
            ../node_modules/.bin/mocha --require ts-node/register --timeout 30000 --exit --recursive --extension ts \
            --reporter ../reporter.js "$@" 'tests/table/**/*.test.ts'
    )
}
