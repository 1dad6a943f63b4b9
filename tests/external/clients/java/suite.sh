# azure-data-tables, the official client for Java. To raise a version, change it in pom.xml.

# Maven keeps what it downloads in its own repository: whoever deletes that deletes target too.
install() {
    local stamp=target/installed-pom.xml tool
    for tool in javac keytool mvn; do
        command -v "$tool" >/dev/null || fail "$tool is missing: install Maven 3.8 and JDK 17, or later"
    done
    if cmp -s pom.xml "$stamp"; then
        return
    fi
    say "installing with Maven"
    # No test has this tag: all is downloaded and compiled, and nothing runs.
    quietly "mvn test" maven --strict-checksums -Dgroups=none -DfailIfNoTests=false
    cp pom.xml "$stamp"
}

# Of its output, only the results are printed.
maven() {
    MAVEN_OPTS="${MAVEN_OPTS:-} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC" mvn --quiet --batch-mode -Dstyle.color=never \
        -Dorg.slf4j.simpleLogger.log.org.apache.maven.plugin.surefire=info "$@" test
}

run() {
    local options=() store=$PWD/target/trust.p12
    if [[ -n ${AZURE_TABLE_TEST_CERTIFICATE:-} ]]; then
        rm -f "$store"
        quietly keytool keytool -importcert -noprompt -alias emulator -file "$AZURE_TABLE_TEST_CERTIFICATE" \
            -keystore "$store" -storetype PKCS12 -storepass changeit
        options+=("-Djavax.net.ssl.trustStore=$store" -Djavax.net.ssl.trustStorePassword=changeit)
    fi
    maven --offline "${options[@]}"
}
