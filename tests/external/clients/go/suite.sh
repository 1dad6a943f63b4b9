# The suite of aztables, the official Go client. Go keeps the modules that go.mod and go.sum pin in its own cache.

install() {
    command -v go >/dev/null || fail "go is missing: install Go 1.26 or later"
    if ! cmp -s go.sum .installed/go.sum; then
        say "installing with go mod download"
        quietly "go mod download" go mod download
        mkdir -p .installed
        cp go.sum .installed/go.sum
    fi
    # The first build takes longer than the suite.
    CGO_ENABLED=0 quietly "go test -c" go test -c -o .installed/suite .
}

run() {
    .installed/suite -test.v -test.timeout 120s | awk '
        /^=== / { next }
        /^--- PASS/ { passed++; next }
        /^--- FAIL/ { failed++ }
        /^--- SKIP/ { skipped++ }
        { print }
        END { printf "go: %d passed, %d failed, %d skipped\n", passed, failed, skipped; exit passed == 0 }'
}
