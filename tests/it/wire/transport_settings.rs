//! The settings of `HttpTransport` that `ReqwestTransport` leaves to reqwest: DNS, local address, TLS, proxies by
//! scheme.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use azure_table::transport::{HttpTransport, HttpTransportBuilder};
use azure_table::{DynamicEntity, Emulator, Error, ErrorKind, RunningEmulator, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, no_retry};
use azure_table_tests::errors::{assert_contains, assert_error};
use azure_table_tests::network::serve;
use azure_table_tests::network::tls_front::{HOST, Identity, TlsFront};
use rcgen::ExtendedKeyUsagePurpose;
use rustls::ClientConfig;
use tokio::net::TcpListener;

const LOCALHOST: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

async fn emulator() -> RunningEmulator {
    serve(Emulator::new()).await.0
}

/// A client of the emulator under another address, such as `http://tables.test:1`.
fn service(server: &RunningEmulator, address: &str, transport: HttpTransportBuilder) -> TableServiceClient {
    let own = format!("http://{}", server.address());
    let connection_string = server.connection_string().replace(&own, address);
    let service = TableServiceClient::from_connection_string(&connection_string).unwrap();
    service.transport(transport.build().unwrap())
}

async fn insert_error(service: &TableServiceClient) -> Error {
    let table = service.dynamic_table("Things").unwrap();
    let insert = table.insert(&DynamicEntity::new("p", "r")).with(&no_retry());
    let error = insert.await.unwrap_err();
    assert_error(&error, ErrorKind::Connection, "no connection");
    error
}

#[tokio::test]
async fn host_has_the_addresses_that_are_set() {
    let server = emulator().await;
    let address = format!("http://{HOST}:{}", server.address().port());
    let transport = HttpTransport::builder().resolve("Tables.Test", [LOCALHOST]);
    service(&server, &address, transport).ping().await.unwrap();

    let address = format!("http://{HOST}");
    let transport = HttpTransport::builder().resolve(HOST, [server.address()]);
    service(&server, &address, transport).ping().await.unwrap();

    let transport = HttpTransport::builder().resolve(HOST, []);
    insert_error(&service(&server, &address, transport)).await;
}

#[tokio::test]
async fn host_has_the_addresses_of_the_function() {
    let server = emulator().await;
    let address = |host: &str| format!("http://{host}:{}", server.address().port());
    let transport = HttpTransport::builder()
        .resolve("fixed.test", [LOCALHOST])
        .resolver(|host: String| async move {
            match host.as_str() {
                HOST => Ok(vec![LOCALHOST]),
                _ => Err(std::io::Error::other("not a host of this test")),
            }
        });
    let transport = transport.build().unwrap();
    let client = |host| service(&server, &address(host), HttpTransport::builder()).transport(transport.clone());
    client(HOST).ping().await.unwrap();
    client("fixed.test").ping().await.unwrap();
    let error = insert_error(&client("other.test")).await;
    assert_contains(format!("{error:?}"), "not a host of this test");
}

/// The address of an account that has no tables, such as one of premium block blobs, does not exist.
#[tokio::test]
async fn host_that_does_not_resolve_is_explained() {
    let unknown = |_| async { Err(std::io::Error::other("Name or service not known")) };
    let transport = HttpTransport::builder().resolver(unknown).build().unwrap();
    let service = TableServiceClient::from_connection_string(CONTOSO).unwrap();
    let error = insert_error(&service.transport(transport)).await;
    let why = "at https://contoso.table.core.windows.net, whose host or proxy does not resolve: check the account's name; accounts \
               of some kinds, such as premium block blobs, have no tables";
    assert_contains(&error, why);
    assert_contains(format!("{error:?}"), "Name or service not known");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn connection_comes_from_the_local_address_and_interface() {
    let server = emulator().await;
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let address = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let local = Ipv4Addr::new(127, 0, 0, 7).into();
    let transport = HttpTransport::builder().local_address(local).interface("lo");
    let client = service(&server, &address, transport);
    let ping = tokio::spawn(async move { client.ping().with(&no_retry()).await });
    let (_, peer) = listener.accept().await.unwrap();
    assert_eq!(peer.ip(), local);
    ping.abort();

    insert_error(&service(&server, &address, HttpTransport::builder().interface("none0"))).await;
}

/// `/proc/net/tcp` shows the timer of each socket: 02 is the keep-alive timer.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn silent_connection_is_probed_by_default() {
    let server = emulator().await;
    let address = format!("http://{}", server.address());
    let remote = format!("0100007F:{:04X}", server.address().port());
    for (transport, timer) in [
        (HttpTransport::builder(), "02"),
        (HttpTransport::builder().tcp_keepalive(Duration::from_secs(1_000)), "02"),
        (HttpTransport::builder().tcp_keepalive(None), "00"),
    ] {
        let client = service(&server, &address, transport);
        client.ping().await.unwrap();
        let sockets = open(&remote);
        assert_eq!(&sockets[0][5][..2], timer, "{sockets:?}");
        drop(client);
        // The pool closes its connections, so that the next one is found alone.
        while !open(&remote).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// The columns of each open socket to this address.
#[cfg(target_os = "linux")]
fn open(remote: &str) -> Vec<Vec<String>> {
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let columns = sockets
        .lines()
        .map(|line| line.split_whitespace().map(str::to_owned).collect());
    columns
        .filter(|columns: &Vec<_>| columns[2] == remote && columns[3] == "01")
        .collect()
}

#[tokio::test]
async fn client_authenticates_with_its_certificate() {
    let server = emulator().await;
    let identity = Identity::of(ExtendedKeyUsagePurpose::ClientAuth);
    let front = TlsFront::to(server.address(), Some(&identity)).await;
    let address = format!("https://{}", front.address);
    let trusting = || HttpTransport::builder().root_certificates(&front.identity.certificate);
    let both = format!("{}{}", identity.key, identity.certificate);
    let client = service(&server, &address, trusting().client_certificate(&both));
    client.ping().await.unwrap();
    let ping = service(&server, &address, trusting()).ping().with(&no_retry());
    assert_error(&ping.await.unwrap_err(), ErrorKind::Connection, "no connection");

    let mixed = format!("{}{}", front.identity.key, identity.certificate);
    for (pem, part) in [
        (&identity.certificate, "no private key in PEM"),
        (&identity.key, "BEGIN CERTIFICATE"),
        (&mixed, "cannot be used"),
    ] {
        let error = trusting().client_certificate(pem).build().unwrap_err();
        assert_error(&error, ErrorKind::InvalidInput, part);
    }
}

/// As in an environment variable whose line ends are spaces: parsers of PEM show the line in their errors.
#[test]
fn error_of_a_certificate_does_not_show_its_key() {
    let identity = Identity::of(ExtendedKeyUsagePurpose::ClientAuth);
    let secret = identity.key.lines().nth(1).unwrap();
    let bytes = format!("{:?}", secret.as_bytes());
    let both = format!("{}{}", identity.key, identity.certificate);
    for pem in [
        both.replace('\n', " "),
        both.replacen('\n', " ", 1),
        both.replace("\n-----END", ""),
    ] {
        let error = HttpTransport::builder().client_certificate(&pem).build().unwrap_err();
        let shown = format!("{error} {error:?} {error:#?} {:?}", std::error::Error::source(&error));
        let is_shown = [secret, bytes.trim_matches(['[', ']'])].map(|form| shown.contains(form));
        assert_eq!(is_shown, [false, false], "{shown}");
    }
}

#[tokio::test]
async fn own_configuration_replaces_the_others() {
    let server = emulator().await;
    let mut front = TlsFront::to(server.address(), None).await;
    let address = format!("https://{}", front.address);
    let config = || {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_protocol_versions(&[&rustls::version::TLS13]).unwrap();
        let config = config.with_root_certificates(front.identity.roots());
        let mut config = config.with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        config
    };
    let transport = HttpTransport::builder().tls_config(config());
    service(&server, &address, transport).ping().await.unwrap();
    let both = HttpTransport::builder().tls_config(config());
    let error = both.root_certificates(&front.identity.certificate).build().unwrap_err();
    assert_error(&error, ErrorKind::InvalidInput, "`tls_config` replaces");
    assert_eq!(front.protocols.try_recv(), Ok(None));
}

/// A proxy that nobody serves fails at once.
#[tokio::test]
async fn each_scheme_may_have_its_proxy() {
    let server = emulator().await;
    let front = TlsFront::to(server.address(), None).await;
    let plain = format!("http://{}", server.address());
    let secure = format!("https://{}", front.address);
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let closed = format!("http://{closed}");
    let trusting = || HttpTransport::builder().root_certificates(&front.identity.certificate);

    let transport = || trusting().http_proxy(&closed);
    service(&server, &secure, transport()).ping().await.unwrap();
    insert_error(&service(&server, &plain, transport())).await;

    let transport = || trusting().https_proxy(&closed);
    service(&server, &plain, transport()).ping().await.unwrap();
    insert_error(&service(&server, &secure, transport())).await;

    for hosts in ["127.0.0.0/8", "*"] {
        let transport = trusting().proxy(&closed).no_proxy(hosts);
        service(&server, &plain, transport).ping().await.unwrap();
    }
    insert_error(&service(&server, &plain, trusting().proxy(&closed).no_proxy(HOST))).await;
    HttpTransport::builder().no_proxy("*").build().unwrap();
    let error = HttpTransport::builder().no_proxy(HOST).build().unwrap_err();
    assert_contains(error, "set `proxy`, or `no_proxy(\"*\")`");
}
