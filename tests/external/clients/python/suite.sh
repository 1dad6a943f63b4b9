# azure-data-tables, the official client for Python. To raise a version, run the command at the top of requirements.txt.

install() {
    command -v python3 >/dev/null || fail "python3 is missing: install Python 3.11 or later, with venv and pip"
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "python3 is $(python3 -c 'import platform; print(platform.python_version())'): 3.11 or later is needed"
    if cmp -s requirements.txt .venv/.installed.txt && .venv/bin/python -c '' 2>/dev/null; then
        return
    fi
    python3 -c 'import ensurepip, venv' 2>/dev/null ||
        fail "python3 cannot make virtual environments: install its venv module (python3-venv on Debian and Ubuntu)"
    say "installing with pip"
    rm -rf .venv
    quietly "python3 -m venv" python3 -m venv .venv
    quietly "pip install" .venv/bin/python -m pip install --disable-pip-version-check --no-input --require-hashes \
        --only-binary :all: -r requirements.txt
    cp requirements.txt .venv/.installed.txt
}

run() {
    .venv/bin/python -B -m unittest -v
}
