//! Proxies between client and service: HTTP with whole requests and in tunnels, SOCKS 5; by settings and by
//! environment.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};

use azure_table::emulator::ServerCertificate;
use azure_table::{DynamicEntity, Emulator, EmulatorServer, ErrorKind, RunningEmulator, TableServiceClient};
use azure_table_tests::canned::{CONTOSO, no_retry};
use azure_table_tests::errors::{assert_contains, assert_error};
use azure_table_tests::network::tls_front::{HOST, Identity, TlsFront};
use azure_table_tests::network::{NetworkBuilder, serve};
use azure_table_tests::process::output;
use azure_table_tests::{Network, on_both_networks};
use rcgen::ExtendedKeyUsagePurpose;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::sockets::read_head;

on_both_networks! {
    http_request_passes_through_proxy_with_absolute_url,
    https_request_passes_through_http_proxy_in_tunnel,
    https_proxy_receives_requests_over_tls,
    socks_proxy_resolves_names_on_request,
    failing_proxy_leaves_no_write_in_doubt,
    emulator_is_reached,
    environment_selects_proxy,
}

/// A proxy that forwards everything and records its targets.
struct Proxy {
    address: SocketAddr,
    requested: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    /// A proxy that connects to `service`, whatever a request names; without one, to the address of the request.
    async fn to(service: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requested = Arc::new(Mutex::new(Vec::new()));
        let keeper = Arc::clone(&requested);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(forward(stream, service, Arc::clone(&keeper)));
            }
        });
        Self {
            address,
            requested,
            task,
        }
    }

    fn requested(&self) -> Vec<String> {
        self.requested.lock().unwrap().clone()
    }
}

/// Forwards one connection. The client sees an error of it.
async fn forward(mut client: TcpStream, service: Option<SocketAddr>, requested: Arc<Mutex<Vec<String>>>) {
    let mut first = [0];
    client.peek(&mut first).await.unwrap();
    let mut head = String::new();
    let target = if first == [5] {
        socks(&mut client).await
    } else {
        head = read_head(&mut client).await.unwrap();
        let mut fields = head.lines().filter_map(|line| line.split_once(": "));
        let credential = fields.find(|(name, _)| name.eq_ignore_ascii_case("proxy-authorization"));
        let credential = credential.map_or("none", |(_, value)| value);
        let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1");
        format!("{line} by {credential}")
    };
    if target.starts_with("CONNECT ") {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        head.clear();
    }
    requested.lock().unwrap().push(target);
    let service = service.unwrap_or_else(|| {
        let (_, rest) = head.split_once("http://").unwrap();
        rest.split('/').next().unwrap().parse().unwrap()
    });
    let mut service = TcpStream::connect(service).await.unwrap();
    service.write_all(head.as_bytes()).await.unwrap();
    let _ = copy_bidirectional(&mut client, &mut service).await;
}

/// The server's side of SOCKS 5. Returns the target, and user and password if there are any.
///
/// Source: RFC 1928 and RFC 1929.
async fn socks(client: &mut TcpStream) -> String {
    let greeting = bytes::<2>(client).await;
    let mut methods = vec![0; usize::from(greeting[1])];
    client.read_exact(&mut methods).await.unwrap();
    let with_password = methods.contains(&2);
    client.write_all(&[5, if with_password { 2 } else { 0 }]).await.unwrap();
    let mut credential = "none".to_owned();
    if with_password {
        let [_version] = bytes(client).await;
        credential = format!("{}:{}", text(client).await, text(client).await);
        client.write_all(&[1, 0]).await.unwrap();
    }
    let [_version, _command, _reserved, kind] = bytes(client).await;
    let host = match kind {
        1 => format!("address {}", std::net::Ipv4Addr::from(bytes::<4>(client).await)),
        4 => format!("address {}", std::net::Ipv6Addr::from(bytes::<16>(client).await)),
        _ => format!("name {}", text(client).await),
    };
    let port = u16::from_be_bytes(bytes(client).await);
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    format!("{host}:{port} by {credential}")
}

async fn bytes<const N: usize>(client: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).await.unwrap();
    bytes
}

/// Reads a text that follows its length.
async fn text(client: &mut TcpStream) -> String {
    let [length] = bytes(client).await;
    let mut text = vec![0; usize::from(length)];
    client.read_exact(&mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}

async fn emulator() -> RunningEmulator {
    serve(Emulator::new()).await.0
}

/// An emulator over HTTPS, and its certificate.
async fn secure_emulator() -> (RunningEmulator, String) {
    let identity = Identity::of(ExtendedKeyUsagePurpose::ServerAuth);
    let certificate = ServerCertificate::from_pem(&identity.certificate, identity.key).unwrap();
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
    (server.https(certificate).spawn(), identity.certificate)
}

/// A client of the emulator, under a name that only the proxy resolves.
fn service(server: &RunningEmulator, transport: NetworkBuilder) -> TableServiceClient {
    let connection_string = server.connection_string().replace(&server.address().to_string(), HOST);
    let service = TableServiceClient::from_connection_string(&connection_string).unwrap();
    service.transport(transport.build().unwrap())
}

async fn http_request_passes_through_proxy_with_absolute_url(network: Network) {
    let server = emulator().await;
    let proxy = Proxy::to(Some(server.address())).await;
    for (credential, sent) in [("", "none"), ("user:pass%40word@", "Basic dXNlcjpwYXNzQHdvcmQ=")] {
        let url = format!("http://{credential}{}", proxy.address);
        service(&server, network.builder().proxy(url)).ping().await.unwrap();
        let expected = format!("GET http://{HOST}/devstoreaccount1/Tables?$top=1 by {sent}");
        assert_eq!(proxy.requested().last(), Some(&expected));
    }
}

async fn https_request_passes_through_http_proxy_in_tunnel(network: Network) {
    let (server, pem) = secure_emulator().await;
    let proxy = Proxy::to(Some(server.address())).await;
    for (url, requested) in [
        ("http://", "CONNECT tables.test:443 by none"),
        ("http://user:pass@", "CONNECT tables.test:443 by Basic dXNlcjpwYXNz"),
        ("socks5h://", "name tables.test:443 by none"),
    ] {
        let proxied = network.builder().proxy(format!("{url}{}", proxy.address));
        service(&server, proxied.root_certificates(&pem)).ping().await.unwrap();
        assert_eq!(proxy.requested().last().unwrap(), requested);
    }
}

/// With the endpoint `http` the proxy receives whole requests; with `https` TLS is within TLS.
async fn https_proxy_receives_requests_over_tls(network: Network) {
    let (secure, pem) = secure_emulator().await;
    let tables = format!("GET http://{HOST}/devstoreaccount1/Tables?$top=1 by Basic dXNlcjpwYXNz");
    let tunnel = format!("CONNECT {HOST}:443 by Basic dXNlcjpwYXNz");
    for (server, requested) in [(emulator().await, tables), (secure, tunnel)] {
        let proxy = Proxy::to(Some(server.address())).await;
        let front = TlsFront::to(proxy.address, None).await;
        let distrusting = |credential: &str| {
            let url = format!("https://{credential}{}", front.address);
            network.builder().proxy(url).root_certificates(&pem)
        };
        let trusting = distrusting("user:pass@").root_certificates(&front.identity.certificate);
        service(&server, trusting).ping().await.unwrap();
        assert_eq!(proxy.requested(), [requested]);
        let ping = service(&server, distrusting("")).ping().with(&no_retry());
        assert_error(&ping.await.unwrap_err(), ErrorKind::Connection, "no connection");
    }
}

async fn socks_proxy_resolves_names_on_request(network: Network) {
    let server = emulator().await;
    let proxy = Proxy::to(Some(server.address())).await;
    let url = format!("socks5h://user:pass@{}", proxy.address);
    let there = network.builder().proxy(url);
    service(&server, there).ping().await.unwrap();
    assert_eq!(proxy.requested(), [format!("name {HOST}:80 by user:pass")]);

    let here = network.builder().proxy(format!("socks5://{}", proxy.address));
    let connection_string = server.connection_string().replace("127.0.0.1", "localhost");
    let service = TableServiceClient::from_connection_string(&connection_string).unwrap();
    service.transport(here.build().unwrap()).ping().await.unwrap();
    let port = server.address().port();
    let requested = proxy.requested().pop().unwrap();
    let expected = ["127.0.0.1", "::1"].map(|host| format!("address {host}:{port} by none"));
    assert!(expected.contains(&requested), "{requested}");
}

async fn failing_proxy_leaves_no_write_in_doubt(network: Network) {
    // The proxy answers everything alike and closes: no tunnel, no handshake.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let rejecting = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1_024]).await;
            let response = b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
            let _ = stream.write_all(response).await;
        }
    });
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (scheme, proxy) in [
        ("https", format!("http://user:SECRET@{rejecting}")),
        ("http", format!("socks5h://user:SECRET@{rejecting}")),
        ("https", format!("socks5://user:SECRET@{rejecting}")),
        ("http", format!("http://user:SECRET@{closed}")),
    ] {
        let address = format!("{scheme}://{HOST}/devstoreaccount1");
        let key = "AccountName=devstoreaccount1;AccountKey=AAECAwQFBgc=";
        let service = TableServiceClient::from_connection_string(&format!("{key};TableEndpoint={address}")).unwrap();
        let service = service.transport(network.builder().proxy(&proxy).build().unwrap());
        let table = service.dynamic_table("Things").unwrap();
        let insert = table.insert(&DynamicEntity::new("p", "r")).with(&no_retry());
        let error = insert.await.unwrap_err();
        let end = (error.kind(), error.may_have_applied());
        assert_eq!(end, (ErrorKind::Connection, false), "{proxy}: {error:?}");
        assert!(!format!("{error} {error:?}").contains("SECRET"), "{error:?}");
    }
    task.abort();
}

#[tokio::test]
async fn failed_tunnel_names_the_proxy_and_its_status() {
    for (response, why) in [
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "it responded with the status 403"),
        ("HTTP/1.0 502 Bad\nVia: x\n\n", "it responded with the status 502"),
        ("HTTP/1.1 200 OK\r\n", "it sent no complete response"),
        ("SSH-2.0\r\n\r\n", "its response is not HTTP/1.1"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await.unwrap();
            stream.write_all(response.as_bytes()).await.unwrap();
        });
        let endpoint = format!("{CONTOSO};TableEndpoint=https://{HOST}");
        let service = TableServiceClient::from_connection_string(&endpoint).unwrap();
        let proxied = Network::Hyper
            .builder()
            .proxy(format!("http://user:x@SECRET@{address}"));
        let ping = service.transport(proxied.build().unwrap()).ping().with(&no_retry());
        let error = format!("{:?}", ping.await.unwrap_err());
        assert_contains(&error, &format!("no tunnel through the proxy {address}: {why}"));
        assert!(!error.contains("SECRET"), "{error}");
        task.await.unwrap();
    }
}

/// A separate test, which [`environment_selects_proxy`] runs with another environment.
async fn emulator_is_reached(network: Network) {
    let (_server, service) = serve(Emulator::new()).await;
    service.transport(network.transport()).ping().await.unwrap();
}

/// Runs [`emulator_is_reached`] in a process with these variables, and returns its output.
fn in_environment(network: Network, variables: &[(&str, &str)]) -> JoinHandle<String> {
    let test = match network {
        Network::Reqwest => "wire::proxies::over_reqwest::emulator_is_reached",
        Network::Hyper => "wire::proxies::over_hyper::emulator_is_reached",
        _ => unreachable!("{network:?} has no settings"),
    };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test]).envs(variables.iter().copied());
    tokio::task::spawn_blocking(move || String::from_utf8_lossy(&output(&mut command, test).stdout).into_owned())
}

/// The environment names no certificates: an `http` endpoint needs none.
#[tokio::test]
async fn machine_without_certificates_reaches_the_emulator() {
    let none = [("SSL_CERT_FILE", "/dev/null"), ("SSL_CERT_DIR", "/nonexistent")];
    let text = in_environment(Network::Hyper, &none).await.unwrap();
    assert_contains(text, "1 passed");
}

/// hyper-util would connect directly for `*` only by name, and report SOCKS 4 for each attempt.
#[tokio::test]
async fn environment_is_read_as_a_user_expects() {
    let invalid = "the proxy's address in NAME is not a URL";
    for (name, url, no_proxy, said) in [
        ("HTTP_PROXY", "http://127.0.0.1:1", Some("*"), "1 passed"),
        (
            "ALL_PROXY",
            "socks4://127.0.0.1:1",
            Some(""),
            "the scheme http, https, socks5 or socks5h",
        ),
        // Each would lead to a direct connection.
        ("HTTP_PROXY", "ftp://127.0.0.1:1", None, invalid),
        ("http_proxy", " http://127.0.0.1:1", None, invalid),
        ("HTTPS_PROXY", "http://us er:pw@127.0.0.1:1", None, invalid),
        ("ALL_PROXY", "http://[::1:8080", None, invalid),
        ("all_proxy", "http://", None, invalid),
    ] {
        let no_proxy = no_proxy.map(|hosts| ("NO_PROXY", hosts));
        let variables: Vec<_> = [(name, url)].into_iter().chain(no_proxy).collect();
        let text = in_environment(Network::Hyper, &variables).await.unwrap();
        assert_contains(text, &said.replace("NAME", name));
    }
}

async fn environment_selects_proxy(network: Network) {
    let proxy = Proxy::to(None).await;
    let url = format!("http://user:pass@{}", proxy.address);
    let run = async |no_proxy: &str| {
        let variables = [("NO_PROXY", no_proxy), ("HTTP_PROXY", &url)];
        let text = in_environment(network, &variables).await.unwrap();
        assert_contains(text, "1 passed");
    };
    run("127.0.0.0/8").await;
    assert_eq!(proxy.requested(), [""; 0]);
    run("tables.test").await;
    let requested = proxy.requested().pop().unwrap();
    assert!(requested.starts_with("GET http://127.0.0.1:"), "{requested}");
    assert!(requested.ends_with(" by Basic dXNlcjpwYXNz"), "{requested}");
}

/// An invalid address must not lead to direct connections.
#[test]
fn invalid_proxy_address_is_rejected() {
    for url in ["", "no url", "ftp://127.0.0.1", "socks4://127.0.0.1", "http://"] {
        let error = Network::Hyper.builder().proxy(url).build().expect_err(url);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{url}: {error}");
        assert_contains(format!("{url}: {error}"), "http, https, socks5 or socks5h");
    }
}
