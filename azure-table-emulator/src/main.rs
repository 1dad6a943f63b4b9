//! A Table service on a port of this machine, in memory or in a folder: for any program that takes a connection string.
//!
//! ```text
//! cargo run --release -p azure-table-emulator -- --port 10002 --account contoso:@key.txt
//! ```
//!
//! Owns the start and the end of the program. Its options are in `options.rs`, its first lines in `introduction.rs`,
//! all other lines in `output.rs`, signals in `stop.rs`, the commands for a folder in `folder.rs`, and the control port
//! in `control.rs`. The service is the library's.

#![expect(clippy::print_stderr, reason = "a program for the command line")]

mod control;
mod folder;
mod introduction;
mod options;
mod output;
mod preset;
mod stop;
mod token;

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::emulator::{EmulatorSnapshot, ServerCertificate};
use azure_table::{Emulator, EmulatorServer, Profile};

use crate::control::{Control, RequestLog};
use crate::introduction::Ports;
use crate::options::{Command, DEVELOPMENT_ACCOUNT, Options};
use crate::output::{People, Result, because, of, print};
use crate::preset::Preset;

/// The time limit for requests in flight after a signal. Containers are killed 10 s after the request to stop, and the
/// snapshot must be written by then.
const GRACE: Duration = Duration::from_secs(3);
/// The seed of `--timestamp-skew`.
const SKEW_SEED: u64 = 0;

// One thread: the tables are behind one lock, and passing requests to other threads costs more than processing them.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Options::parse(lexopt::Parser::from_env()) {
        Ok(Some(command)) => match run(command).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{}", because("error", &*error));
                ExitCode::FAILURE
            }
        },
        Ok(None) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}\nTry --help for the options.");
            ExitCode::from(2)
        }
    }
}

async fn run(command: Command) -> Result<()> {
    match command {
        Command::Serve(options) => serve(*options).await,
        Command::Folder(command, folder, profile) => folder::run(command, &folder, profile).await,
    }
}

async fn serve(options: Options) -> Result<()> {
    let people = if options.ready_json {
        People::Stderr
    } else {
        People::Stdout
    };
    let mut stop = stop::Signals::listen()?;
    let certificate = options
        .certificate
        .as_ref()
        .map(|(certificate, key)| read_certificate(certificate, key));
    let certificate = certificate.transpose()?;
    let log = RequestLog::new();
    let emulator = emulator(&options, people, &log)?;
    let address = SocketAddr::new(options.host, options.port);
    let mut server = EmulatorServer::bind(emulator.clone(), address)
        .await
        .map_err(|e| why_not(address, "--port", &e))?;
    let control = match &options.control {
        Some(control) => Some(Control::bind(control, log).await.map_err(|e| {
            let address = SocketAddr::new(control.host, control.port);
            format!("--control: {}", why_not(address, "--control", &e))
        })?),
        None => None,
    };
    // After the port is bound, so that a failure creates no file. Early clients wait.
    if let Some(path) = &options.snapshot {
        restore(&emulator, path)?;
    }
    let fingerprint = certificate
        .as_ref()
        .map(|certificate| certificate.fingerprint().to_owned());
    if let Some(certificate) = certificate {
        server = server.https(certificate);
    }
    if let Some(connections) = options.max_connections {
        server = server.max_connections(connections);
    }
    if let Some(bytes) = options.max_body_bytes {
        server = server.max_body_bytes(bytes);
    }
    if let Some(timeout) = options.timeout {
        server = server.read_timeout(timeout);
    }
    let control_url = control.as_ref().map(Control::url);
    let ports = Ports {
        server: &server,
        control: control_url.as_deref(),
        fingerprint: fingerprint.as_deref(),
    };
    introduction::introduce(&emulator, &ports, &options, people);
    if options.ready_json {
        print(introduction::ready(&ports, &options)?);
    }
    for name in &options.visible_keys {
        eprintln!(
            "warning: all users of this machine can see the key of {name} in the list of processes: use --account \
             {name}:@FILE, or AZURE_TABLE_EMULATOR_ACCOUNTS in the environment"
        );
    }
    if server.is_open_to_network() {
        eprintln!(
            "warning: other machines can reach {}, and the key of {DEVELOPMENT_ACCOUNT} is public: use --host 127.0.0.1, or \
             --account {DEVELOPMENT_ACCOUNT}:@FILE with a key of your own",
            options.host
        );
    }
    if let Some(control) = &options.control {
        if control.is_token_visible {
            eprintln!(
                "warning: all users of this machine can see the token of the control port in the list of processes: \
                 use --control-token @FILE, or AZURE_TABLE_EMULATOR_CONTROL_TOKEN in the environment"
            );
        }
        if !control.host.to_canonical().is_loopback() {
            eprintln!(
                "warning: other machines can reach the control port at {}, and its token is sent in clear over HTTP",
                control.host
            );
        }
    }
    for audience in &options.token_audiences {
        eprintln!("warning: every token for {audience} is accepted, whoever signed it: for tests only");
    }

    let steering = match control {
        Some(control) => {
            let (through, control) = control.steer(emulator.clone(), server, options.model);
            server = through;
            Some(tokio::spawn(control))
        }
        None => None,
    };
    let (stopping, stopped) = tokio::sync::oneshot::channel::<()>();
    let at_once = match options.snapshot {
        Some(_) => "at once, without the snapshot",
        None => "at once",
    };
    let served = server.serve_until(async {
        let signal = stop.next().await;
        people.tell(format_args!("{signal}: stopping; send it again to stop {at_once}"));
        let _ = stopping.send(());
        tokio::spawn(async move {
            stop.next().await;
            std::process::exit(130);
        });
    });
    tokio::select! {
        () = served => {}
        () = async {
            let _ = stopped.await;
            tokio::time::sleep(GRACE).await;
        } => people.tell("requests in flight were not answered"),
    }
    // It could still make changes that the snapshot would miss.
    if let Some(steering) = steering {
        steering.abort();
        let _ = steering.await;
    }
    emulator.flush().await.map_err(|e| because("data", &e))?;
    if let Some(path) = &options.snapshot {
        let snapshot = emulator.snapshot();
        snapshot.write(path).map_err(|e| {
            let contents = of(&snapshot);
            format!("snapshot {e}: it could not be written, {contents} are lost")
        })?;
        people.tell(format_args!("snapshot   {} written, {}", path.display(), of(&snapshot)));
    }
    people.tell("stopped");
    Ok(())
}

fn emulator(options: &Options, people: People, log: &RequestLog) -> Result<Emulator> {
    let opened = match &options.data {
        Some(folder) => folder::open(folder, options.sync, options.profile)?,
        None if options.profile == Profile::Cosmos => Emulator::cosmos(),
        None => Emulator::new(),
    };
    let mut emulator = options.accounts.iter().fold(opened, |emulator, account| {
        // The value was validated when it was parsed.
        emulator
            .clone()
            .with_account(&account.name, &account.key)
            .unwrap_or(emulator)
    });
    for audience in &options.token_audiences {
        emulator = emulator.with_token_audience(audience);
    }
    emulator = emulator
        .with_strict_versions(options.strict_versions)
        .with_timestamp_skew(options.timestamp_skew, SKEW_SEED);
    emulator = emulator.with_service_model(options.model.map(Preset::model));
    let people = (!options.quiet).then_some(people);
    let log = options.control.is_some().then(|| log.clone());
    if people.is_some() || log.is_some() {
        emulator = emulator.with_observer(move |request| {
            if let Some(people) = people {
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
