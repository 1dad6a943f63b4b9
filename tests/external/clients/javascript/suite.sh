# @azure/data-tables, the official client for JavaScript. To raise its version, change it in package.json and run
# npm install --package-lock-only.

install() {
    local stamp=node_modules/.installed-lock.json tool
    for tool in node npm; do
        command -v "$tool" >/dev/null || fail "$tool is missing: install Node.js 20 or later"
    done
    if cmp -s package-lock.json "$stamp"; then
        return
    fi
    say "installing with npm ci"
    quietly "npm ci" npm ci --ignore-scripts --no-audit --no-fund
    cp package-lock.json "$stamp"
}

run() {
    NODE_EXTRA_CA_CERTS=${AZURE_TABLE_TEST_CERTIFICATE:-} node --test --test-reporter spec --test-timeout 60000
}
