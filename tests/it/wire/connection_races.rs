//! Connections that end at any moment, and callers that leave: no request gets the response to another one, and one
//! that is reported as not sent never arrived.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::transport::{Delivery, HttpTransport, Transport as _};
use azure_table_tests::process::LIMIT;
use azure_table_tests::scenario::of_all;
use azure_table_tests::{Network, on_both_networks};
use bytes::Bytes;
use fastrand::Rng;
use http::Request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::sockets::{Sockets, read_head};

const REQUESTS: usize = 2_000;
const CALLERS: usize = 16;

on_both_networks! {
    responses_belong_to_their_requests,
    responses_belong_to_their_requests_on_two_threads(flavor = "multi_thread", worker_threads = 2),
}

async fn responses_belong_to_their_requests_on_two_threads(network: Network) {
    responses_belong_to_their_requests(network).await;
}

async fn responses_belong_to_their_requests(network: Network) {
    let arrived = Arc::new(Mutex::new(HashSet::new()));
    let arrivals = Arc::clone(&arrived);
    let server = Sockets::doing(network, move |connection| {
        serve(connection.stream, Arc::clone(&arrivals))
    })
    .await;
    let base = server.service.endpoint().to_owned();
    let transport = network.transport();
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (transport, base) = (transport.clone(), base.clone());
        callers.spawn(async move {
            let mut outcomes = Outcomes::default();
            for n in 0..REQUESTS / CALLERS {
                let id = format!("{caller}-{n}");
                let mut random = Rng::with_seed((caller * REQUESTS + n) as u64 + 7);
                // Some leave at once, however fast the machine is.
                let micros = |micros: u64| Duration::from_micros(micros.saturating_sub(1_000));
                let is_impatient = random.u8(..) < 50;
                let patience = if is_impatient {
                    micros(random.u64(0..4_000))
                } else {
                    LIMIT
                };
                let sent = transport.send(post(&base, &id));
                match timeout(patience, sent).await {
                    Ok(Ok(response)) => {
                        assert_eq!(*response.body(), id);
                        outcomes.answered += 1;
                    }
                    Ok(Err(e)) if e.delivery() == Delivery::NothingSent => outcomes.not_sent.push(id),
                    Ok(Err(_)) => outcomes.in_doubt += 1,
                    Err(_) => outcomes.left += 1,
                }
            }
            outcomes
        });
    }
    let outcomes: Vec<Outcomes> = callers.join_all().await;
    let count = |of: fn(&Outcomes) -> usize| outcomes.iter().map(of).sum::<usize>();
    let (answered, in_doubt, left) = (count(|o| o.answered), count(|o| o.in_doubt), count(|o| o.left));
    assert!(
        answered > REQUESTS / 2 && in_doubt > REQUESTS / 50 && left > REQUESTS / 50,
        "{answered} {in_doubt} {left}"
    );
    // Connections are used again.
    let connections = server.connections();
    assert!(
        connections < answered,
        "{connections} connections for {answered} responses"
    );
    drop(server);
    let arrived = arrived.lock().unwrap();
    for id in outcomes.iter().flat_map(|outcomes| &outcomes.not_sent) {
        assert!(!arrived.contains(id), "{id} was reported as not sent");
    }
}

/// Nobody but the transport knows the limit. A request that waits gets the connection of the one before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_request_waits_beside_an_idle_connection() {
    let server = Sockets::doing(Network::Hyper, |mut connection| async move {
        let arrived = Mutex::default();
        while request(&mut connection.stream, &arrived).await.is_some() {
            connection.write("HTTP/1.1 204 No Content\r\n\r\n").await;
        }
    })
    .await;
    let base = server.service.endpoint().to_owned();
    for connections in 1..=3 {
        let transport = HttpTransport::builder().max_connections(connections);
        let transport = transport.pool_idle_timeout(None).build().unwrap();
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let (transport, base) = (transport.clone(), base.clone());
            callers.spawn(async move {
                for n in 0..of_all(300) {
                    let sent = transport.send(post(&base, &format!("{caller}-{n}")));
                    let sent = timeout(LIMIT, sent).await;
                    sent.expect("a request waits for ever").unwrap();
                }
            });
        }
        callers.join_all().await;
    }
}

fn post(base: &str, id: &str) -> Request<Bytes> {
    let request = Request::post(format!("{}/{id}", base.trim_end_matches('/')));
    request.body(Bytes::from("x".repeat(100))).unwrap()
}

#[derive(Default)]
struct Outcomes {
    answered: usize,
    not_sent: Vec<String>,
    in_doubt: usize,
    /// The caller did not wait for the response.
    left: usize,
}

/// Answers each request with its own path, if it answers at all.
async fn serve(mut stream: TcpStream, arrived: Arc<Mutex<HashSet<String>>>) {
    while let Some(id) = request(&mut stream, &arrived).await {
        let mut random = Rng::with_seed(id.bytes().fold(3, |hash, byte| hash * 31 + u64::from(byte)));
        let head = |more: &str| format!("HTTP/1.1 200 OK\r\n{more}Content-Length: {}\r\n\r\n", id.len());
        let whole = head("") + &id;
        let (text, pause, goes_on) = match random.u8(0..20) {
            0 => (head("Connection: close\r\n") + &id, 0, false),
            // The client may be about to send its next request.
            1..3 => (whole, random.u64(0..400), false),
            3 => (head("") + &id[1..], 0, false),
            4 => (String::new(), 0, false),
            5 => {
                let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                (format!("{head}{:x}\r\n{id}\r\n0\r\n\r\n", id.len()), 0, true)
            }
            6 => (whole + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray", 0, true),
            7..9 => {
                sleep(Duration::from_micros(random.u64(0..3_000))).await;
                (whole, 0, true)
            }
            9 => {
                let _ = stream.write_all(head("").as_bytes()).await;
                tokio::task::yield_now().await;
                (id, 0, true)
            }
            _ => (whole, 0, true),
        };
        let is_written = stream.write_all(text.as_bytes()).await.is_ok();
        sleep(Duration::from_micros(pause)).await;
        if !is_written || !goes_on {
            break;
        }
    }
}

/// Reads a request and returns its path without the slash.
async fn request(stream: &mut TcpStream, arrived: &Mutex<HashSet<String>>) -> Option<String> {
    let head = read_head(stream).await?;
    let id = head.split(' ').nth(1).unwrap().trim_start_matches('/').to_owned();
    assert!(arrived.lock().unwrap().insert(id.clone()), "{id} was sent twice");
    stream.read_exact(&mut [0; 100]).await.ok()?;
    Some(id)
}
