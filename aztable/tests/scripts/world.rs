//! The places and files of a script, and what they have at a moment.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use azure_table::emulator::{SeedEntities as _, SyncPolicy};
use azure_table::{DynamicEntity, Emulator, EmulatorServer, RunningEmulator, TableServiceClient};
use fastrand::Rng;
use tokio::runtime::Runtime;

use crate::front::{Control, Front};
use crate::program::{LIMIT, no_starts};
use crate::rows::{Table, key};

/// The runtime of all servers.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
});

/// The tables of a place.
pub(crate) type Tables = BTreeMap<String, Table>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceKind {
    Folder,
    Port,
    Cosmos,
}

/// An account that is served, or a folder.
pub(crate) struct Place {
    pub(crate) kind: PlaceKind,
    /// The folder, or the file with the connection string.
    pub(crate) name: String,
    server: Option<(RunningEmulator, Emulator)>,
    pub(crate) control: Control,
}

impl Place {
    /// Creates a place with tables.
    pub(crate) fn create(root: &Path, name: &str, kind: PlaceKind, page: usize, tables: &Tables) -> Self {
        let control = Control::default();
        let fill = |emulator: &Emulator| {
            for (table, rows) in tables {
                emulator.seed(table, rows.values().cloned()).unwrap();
            }
        };
        let server = match kind {
            PlaceKind::Folder => {
                let _no_starts = no_starts();
                fs::create_dir(root.join(name)).unwrap();
                fill(&Emulator::open(root.join(name), SyncPolicy::Never).unwrap());
                None
            }
            PlaceKind::Port | PlaceKind::Cosmos => {
                let emulator = match kind {
                    PlaceKind::Cosmos => Emulator::cosmos(),
                    _ => Emulator::new(),
                };
                let emulator = emulator.page_size(page);
                fill(&emulator);
                let front = |emulator| Front {
                    emulator,
                    control: control.clone(),
                };
                let bound = RUNTIME.block_on(EmulatorServer::bind(emulator.clone(), "127.0.0.1:0"));
                let running = RUNTIME.block_on(async { bound.unwrap().through(front).spawn() });
                fs::write(root.join(name), running.connection_string()).unwrap();
                Some((running, emulator))
            }
        };
        Self {
            kind,
            name: name.to_owned(),
            server,
            control,
        }
    }

    /// A folder that does not exist yet.
    pub(crate) fn absent(name: &str) -> Self {
        Self {
            kind: PlaceKind::Folder,
            name: name.to_owned(),
            server: None,
            control: Control::default(),
        }
    }

    pub(crate) fn is_server(&self) -> bool {
        self.server.is_some()
    }

    pub(crate) fn connection_string(&self) -> Option<&str> {
        Some(self.server.as_ref()?.0.connection_string())
    }

    /// Returns the place on the command line: `local:DIR` or `@FILE`.
    pub(crate) fn argument(&self) -> String {
        match self.kind {
            PlaceKind::Folder => format!("local:{}", self.name),
            _ => format!("@{}", self.name),
        }
    }

    /// Uses the tables of the place while no program does.
    fn with_service<T>(&self, root: &Path, act: impl AsyncFnOnce(TableServiceClient) -> T) -> T {
        if let Some((_, emulator)) = &self.server {
            return RUNTIME.block_on(act(TableServiceClient::from_transport(emulator.clone())));
        }
        let _no_starts = no_starts();
        let started = Instant::now();
        let emulator = loop {
            match Emulator::open(root.join(&self.name), SyncPolicy::Never) {
                // A process that was killed may hold the lock a moment longer.
                Err(error) => assert!(started.elapsed() < LIMIT, "{error}"),
                Ok(emulator) => break emulator,
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        RUNTIME.block_on(act(TableServiceClient::from_transport(emulator)))
    }

    /// Reads all tables. A folder that does not exist has none.
    pub(crate) fn tables(&self, root: &Path) -> Tables {
        if !self.is_server() && !root.join(&self.name).exists() {
            return Tables::new();
        }
        self.with_service(root, async |service| {
            let mut tables = Tables::new();
            for name in service.list_tables().all().await.unwrap() {
                let query = service.dynamic_table(&name).unwrap().query().allow_table_scan();
                let rows: Vec<DynamicEntity> = query.all().await.unwrap();
                tables.insert(name, rows.into_iter().map(|row| (key(&row), row)).collect());
            }
            tables
        })
    }

    pub(crate) fn delete_table(&self, root: &Path, table: &str) {
        self.with_service(root, async |service| {
            let _ = service.dynamic_table(table).unwrap().delete_table().await;
        });
    }

    /// Returns whether the service takes a row: asks a service of the same kind, at an address of the same kind.
    pub(crate) fn accepts(&self, row: &DynamicEntity) -> bool {
        static STORAGE: LazyLock<RunningEmulator> = LazyLock::new(|| trial(Emulator::new()));
        static COSMOS: LazyLock<RunningEmulator> = LazyLock::new(|| trial(Emulator::cosmos()));
        let server = if self.kind == PlaceKind::Cosmos {
            &*COSMOS
        } else {
            &*STORAGE
        };
        let service = TableServiceClient::from_connection_string(server.connection_string()).unwrap();
        let table = service.dynamic_table("Rows").unwrap();
        RUNTIME.block_on(async {
            table.create_table_if_not_exists().await.unwrap();
            table.insert_or_replace(row).await.is_ok()
        })
    }
}

/// A service that tries rows.
fn trial(emulator: Emulator) -> RunningEmulator {
    let bound = RUNTIME.block_on(EmulatorServer::bind(emulator, "127.0.0.1:0"));
    RUNTIME.block_on(async { bound.unwrap().spawn() })
}

/// A file at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileState {
    Bytes(Vec<u8>),
    Link(PathBuf),
    Folder,
    Other,
}

pub(crate) type Files = BTreeMap<PathBuf, FileState>;

/// Reads a folder with all its files, except those of `left_out`.
pub(crate) fn files(folder: &Path, left_out: &[PathBuf], found: &mut Files) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if left_out.contains(&path) {
            continue;
        }
        let kind = path.symlink_metadata().unwrap().file_type();
        let state = if kind.is_symlink() {
            FileState::Link(fs::read_link(&path).unwrap())
        } else if kind.is_dir() {
            files(&path, left_out, found);
            FileState::Folder
        } else if kind.is_file() {
            FileState::Bytes(fs::read(&path).unwrap())
        } else {
            debug_assert!(kind.is_fifo());
            FileState::Other
        };
        found.insert(path, state);
    }
}

/// All tables and files at a moment.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) tables: Vec<Tables>,
    pub(crate) files: Files,
}

/// The places and folders of a script.
pub(crate) struct World {
    pub(crate) root: tempfile::TempDir,
    pub(crate) ram: Option<tempfile::TempDir>,
    pub(crate) places: Vec<Place>,
}

impl World {
    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn moment(&self) -> Moment {
        let tables = self.places.iter().map(|place| place.tables(self.path())).collect();
        Moment {
            tables,
            files: self.files(),
        }
    }

    /// Returns all files, except those of places.
    pub(crate) fn files(&self) -> Files {
        let folders = self.places.iter().filter(|place| place.kind == PlaceKind::Folder);
        let left_out: Vec<_> = folders.map(|place| self.path().join(&place.name)).collect();
        let mut found = Files::new();
        files(self.path(), &left_out, &mut found);
        if let Some(ram) = &self.ram {
            files(ram.path(), &[], &mut found);
        }
        found
    }
}

/// A random kind of place.
pub(crate) fn place_kind(random: &mut Rng) -> PlaceKind {
    match random.u8(..8) {
        0 | 1 => PlaceKind::Folder,
        2..=5 => PlaceKind::Port,
        _ => PlaceKind::Cosmos,
    }
}
