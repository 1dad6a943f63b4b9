//! Servers that store their tables on a disk, next to the emulator in memory: requests per second, and their CPU time.
//!
//! Azurite answers from memory and writes its file every 5 s, so it guarantees less than `--sync interval`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::load::{self, Scenario};
use crate::of_medians;
use crate::process::Server;
use crate::sockets;

const ROUNDS: usize = 5;
const WINDOW: Duration = Duration::from_millis(900);
/// The requests, and the number of them in flight.
const LOADS: [(&str, Scenario, usize); 5] = [
    ("insert, 1", Scenario::Insert, 1),
    ("insert, 64", Scenario::Insert, 64),
    ("batch, 1", Scenario::Batch, 1),
    ("batch, 8", Scenario::Batch, 8),
    ("read, 16", Scenario::PointRead, 16),
];

/// A server, and its folder, which is removed after the server has ended.
struct OnDisk {
    name: &'static str,
    server: Server,
    _folder: Folder,
}

struct Folder(PathBuf);

impl Folder {
    /// Below the folder of the program, because `/tmp` may not be a disk.
    fn new(number: usize) -> Self {
        let own = std::env::current_exe().unwrap();
        let folder = own.with_file_name(format!("emulator-bench-{}-{number}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl OnDisk {
    fn all() -> Vec<Self> {
        let start = |(number, (name, sync)): (usize, (&'static str, Option<&str>))| {
            let folder = Folder::new(number);
            let data = folder.0.to_str().unwrap();
            let server = match (name, sync) {
                ("Azurite", _) => Server::azurite_on_disk(&folder.0),
                (_, Some(sync)) => Server::emulator_with(&["--data", data, "--sync", sync]),
                (_, None) => Server::emulator(),
            };
            Self {
                name,
                server,
                _folder: folder,
            }
        };
        let servers = [
            ("memory", None),
            ("always", Some("always")),
            ("interval", Some("interval")),
            ("never", Some("never")),
            ("Azurite", None),
            ("memory again", None),
        ];
        servers.into_iter().enumerate().map(start).collect()
    }
}

pub(crate) fn print() {
    let servers = OnDisk::all();
    for OnDisk { server, .. } in &servers {
        load::prepare(server.port);
    }
    let mut runs = vec![[const { Vec::new() }; LOADS.len()]; servers.len()];
    for round in 0..ROUNDS {
        for (n, (_, scenario, in_flight)) in LOADS.into_iter().enumerate() {
            for (OnDisk { server, .. }, runs) in servers.iter().zip(&mut runs) {
                // Each load has its own tables.
                let mut load = scenario.load(server.port, round * LOADS.len() + n);
                runs[n].push(sockets::run(server, &mut load, in_flight, WINDOW));
            }
        }
    }
    let medians: Vec<_> = runs
        .iter()
        .map(|loads| loads.each_ref().map(|runs| of_medians(runs)))
        .collect();
    let azurite = servers.iter().position(|server| server.name == "Azurite").unwrap();
    let loads = LOADS.map(|(name, ..)| format!("{name:>26}")).concat();
    println!("requests per second, × Azurite, CPU per request\n{:14}{loads}", "");
    for (server, measured) in servers.iter().zip(&medians) {
        let cells = measured.iter().zip(&medians[azurite]).map(|(own, azurite)| {
            let ratio = own.per_second / azurite.per_second;
            format!("{:>8.0}{ratio:>6.1} ×{:>7.0} µs", own.per_second, own.cpu_micros)
        });
        println!("{:14}{}", server.name, cells.collect::<String>());
    }
}
