//! Runs the server from its start until a signal stops it.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use azure_table_emulator::{Emulator, EmulatorServer};
use azure_table_emulator::{EmulatorSnapshot, ServerCertificate};
use azure_table_wire::account::profile::Profile;

use crate::control::{Control, RequestLog};
use crate::folder;
use crate::introduction::{self, Ports};
use crate::options::Options;
use crate::output::{People, Result, Stream, because, of};
use crate::stop::Ends;

/// The time limit for requests in flight after the first end. Containers are killed 10 s after the request to stop, and
/// the snapshot must be written by then.
const GRACE: Duration = Duration::from_secs(3);
/// The time in which further signals count as the same end: a terminal, npm and a shell each pass on one key press, and
/// a harness that it ends sends SIGTERM.
const SAME_END: Duration = Duration::from_millis(500);
/// The seed of `--timestamp-skew`.
const SKEW_SEED: u64 = 0;

/// Serves until the first end, then stores the tables.
pub(crate) async fn serve(options: Options) -> Result<()> {
    let people = People::on(if options.ready_json {
        Stream::Stderr
    } else {
        Stream::Stdout
    })?;
    let ends = Ends::listen(options.stop_on_eof)?;
    let certificate = options.certificate.as_ref();
    let certificate = certificate.map(|(certificate, key)| read_certificate(certificate, key));
    let certificate = certificate.transpose()?;
    let log = RequestLog::new(options.control.as_ref().map_or(0, |control| control.log_length));
    let emulator = emulator(&options, &people, &log)?;
    let addresses = options.hosts.iter().map(|host| SocketAddr::new(*host, options.port));
    let addresses: Vec<_> = addresses.collect();
    let server = EmulatorServer::bind(emulator.clone(), &addresses[..]).await;
    let server = server.map_err(|e| match addresses.first() {
        Some(address) => why_not(*address, "--port", &e),
        None => e.to_string(),
    })?;
    let control = bind_control(&options, log).await?;
    // The port is bound first, so that a failure to bind creates no file. Early clients wait.
    if let Some(path) = &options.snapshot {
        restore(&emulator, path)?;
    }
    let fingerprint = certificate
        .as_ref()
        .map(|certificate| certificate.fingerprint().to_owned());
    let server = configured(server, &options, certificate);
    let ports = Ports {
        server: &server,
        control: control.as_ref().map(Control::url),
        fingerprint,
    };
    introduction::introduce(&emulator, &ports, &options, &people)?;
    let (server, steering) = match control {
        Some(control) => {
            let (server, steering) = control.steer(emulator.clone(), server);
            (server, Some(tokio::spawn(steering)))
        }
        None => (server, None),
    };
    until_end(server, ends, options.snapshot.is_some(), &people).await;
    // Stops the control port first: it could still make changes that the snapshot would miss.
    if let Some(steering) = steering {
        steering.abort();
        let _ = steering.await;
    }
    let kept = keep(&emulator, options.snapshot.as_deref(), &people).await;
    if kept.is_ok() {
        people.tell("stopped");
    }
    people.flush();
    kept
}

fn emulator(options: &Options, people: &People, log: &RequestLog) -> Result<Emulator> {
    let opened = match &options.data {
        Some(folder) => folder::open(folder, options.sync, options.profile)?,
        None if options.profile == Profile::Cosmos => Emulator::cosmos(),
        None => Emulator::new(),
    };
    let mut emulator = options.accounts.iter().fold(opened, |emulator, account| {
        // The value was validated when it was parsed.
        emulator
            .clone()
            .account(&account.name, &account.key)
            .unwrap_or(emulator)
    });
    for audience in &options.token_audiences {
        emulator = emulator.token_audience(audience);
    }
    emulator = emulator
        .strict_versions(options.strict_versions)
        .timestamp_skew(options.timestamp_skew, SKEW_SEED);
    if let Some(seed) = options.adverse {
        emulator = emulator.adverse(seed);
    }
    let people = (!options.quiet).then(|| people.clone());
    let log = options.control.is_some().then(|| log.clone());
    if people.is_some() || log.is_some() {
        emulator = emulator.observer(move |request| {
            if let Some(people) = &people {
                people.tell(request);
            }
            if let Some(log) = &log {
                log.record(request);
            }
        });
    }
    Ok(emulator)
}

fn read_certificate(certificate: &Path, key: &Path) -> Result<ServerCertificate> {
    let read = |path: &Path| std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let files = format!("{} and {}", certificate.display(), key.display());
    Ok(ServerCertificate::from_pem(read(certificate)?, read(key)?).map_err(|e| because(&files, &e))?)
}

async fn bind_control(options: &Options, log: RequestLog) -> Result<Option<Control>> {
    let Some(control) = &options.control else {
        return Ok(None);
    };
    let bound = Control::bind(control, log).await;
    let bound = bound.map_err(|e| {
        let address = SocketAddr::new(control.host, control.port);
        format!("--control: {}", why_not(address, "--control", &e))
    });
    Ok(Some(bound?))
}

fn configured(mut server: EmulatorServer, options: &Options, certificate: Option<ServerCertificate>) -> EmulatorServer {
    if let Some(certificate) = certificate {
        server = server.https(certificate);
    }
    if let Some(connections) = options.max_connections {
        server = server.max_connections(connections);
    }
    if let Some(bytes) = options.max_body_bytes {
        server = server.max_body_bytes(bytes);
    }
    match options.timeout {
        Some(timeout) => server.read_timeout(timeout),
        None => server,
    }
}

/// Restores a snapshot. Creates a missing file immediately, so that a file that cannot be written is reported at the
/// start.
fn restore(emulator: &Emulator, path: &Path) -> Result<()> {
    match EmulatorSnapshot::read(path) {
        Ok(snapshot) => emulator
            .restore(&snapshot)
            .map_err(|e| because(&format!("snapshot {}", path.display()), &e).into()),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let written = emulator.snapshot().write(path);
            Ok(written.map_err(|e| format!("snapshot {e}"))?)
        }
        Err(e) => Err(format!("snapshot {e}").into()),
    }
}

/// Serves until the first end, then answers complete requests for at most `GRACE`. A signal after `SAME_END` ends the
/// process.
async fn until_end(server: EmulatorServer, mut ends: Ends, has_snapshot: bool, people: &People) {
    let (stopping, stopped) = tokio::sync::oneshot::channel::<()>();
    let loss = if has_snapshot { ", without the snapshot" } else { "" };
    let served = server.serve_until(async {
        let end = ends.next().await;
        people.tell(format_args!("{end}: stopping; another signal stops it at once{loss}"));
        let _ = stopping.send(());
        let last_words = people.clone();
        tokio::spawn(async move {
            let first = Instant::now();
            while first.elapsed() < SAME_END {
                ends.next_signal().await;
            }
            last_words.flush();
            std::process::exit(130);
        });
    });
    tokio::select! {
        () = served => {}
        () = async {
            let _ = stopped.await;
            tokio::time::sleep(GRACE).await;
        } => people.tell(format_args!("requests in flight were not answered within {GRACE:?}")),
    }
}

/// Waits until all changes are in the folder, or writes the snapshot.
async fn keep(emulator: &Emulator, snapshot: Option<&Path>, people: &People) -> Result<()> {
    emulator.flush().await.map_err(|e| because("data", &e))?;
    let Some(path) = snapshot else {
        return Ok(());
    };
    let snapshot = emulator.snapshot();
    snapshot.write(path).map_err(|e| {
        let contents = of(&snapshot);
        format!("snapshot {e}: it could not be written, {contents} are lost")
    })?;
    people.tell(format_args!("snapshot   {} written, {}", path.display(), of(&snapshot)));
    Ok(())
}

fn why_not(address: SocketAddr, option: &str, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::AddrInUse => format!(
            "port {} is in use, perhaps by Azurite or another emulator; choose one with {option}, 0 for any free one",
            address.port()
        ),
        ErrorKind::PermissionDenied => format!(
            "port {} may not be used by this user; choose one with {option}",
            address.port()
        ),
        ErrorKind::AddrNotAvailable => format!("{} is not an address of this machine", address.ip()),
        _ => format!("{address}: {error}"),
    }
}
