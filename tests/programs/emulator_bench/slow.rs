//! Ten thousand connections that send a byte per second, next to clients that read: their cost for the others.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::load::{self, Scenario};
use crate::median;
use crate::process::Server;
use crate::sockets;

const SLOW: usize = 10_000;
const ROUNDS: usize = 7;
const WINDOW: Duration = Duration::from_secs(1);

pub(crate) fn print() {
    let server = Server::emulator();
    load::prepare(server.port);
    let before = server.resident_mib();
    let alone = p99(&server);
    let clients: Vec<TcpStream> = (0..SLOW).map(|_| connect(server.port)).collect();
    let stop = AtomicBool::new(false);
    let (beside, after) = thread::scope(|scope| {
        scope.spawn(|| send(&clients, &stop));
        let measured = (p99(&server), server.resident_mib());
        stop.store(true, Ordering::Relaxed);
        measured
    });
    println!(
        "{SLOW} connections of a byte a second: p99 of reads {beside:.0} µs, alone {alone:.0} µs, {:.2} × (bar 2); resident {after:.1} MiB, before {before:.1} MiB, {:.1} KiB a connection",
        beside / alone,
        (after - before) * 1_024.0 / SLOW as f64
    );
}

fn p99(server: &Server) -> f64 {
    let rounds = (0..ROUNDS).map(|round| {
        let mut load = Scenario::PointRead.load(server.port, round);
        sockets::run(server, &mut load, 8, WINDOW).p99_micros
    });
    median(rounds.collect())
}

fn connect(port: u16) -> TcpStream {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("`ulimit -n` is above 10,100")
}

/// Sends each connection a byte of an endless head, once a second, one after the other.
fn send(clients: &[TcpStream], stop: &AtomicBool) {
    let mut head = b"GET /devstoreaccount1/Tables HTTP/1.1\r\nX: "
        .iter()
        .chain(std::iter::repeat(&b'x'));
    let mut due = Instant::now();
    while let Some(byte) = head.next().filter(|_| !stop.load(Ordering::Relaxed)) {
        for mut client in clients {
            // The server closes connections beyond its time limit.
            let _ = client.write_all(&[*byte]);
            due += Duration::from_secs(1) / SLOW as u32;
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
    }
}
