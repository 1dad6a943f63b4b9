//! The file that names the tables of a run: each before it is created, until it is deleted.
//!
//! It has the names only, one per line, and the properties of the service while they are changed. The file is replaced
//! as a whole, so that a kill leaves the old one or the new one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The line before the names.
const HEAD: &str = "# Tables of a run of verify, which deletes them. If it was killed: verify --cleanup FILE";
/// The beginning of the line with the properties to restore, as JSON text.
const PROPERTIES: &str = "# properties ";

#[derive(Debug)]
pub(crate) struct Tables {
    path: PathBuf,
    noted: Mutex<Noted>,
}

#[derive(Clone, Debug, Default)]
struct Noted {
    names: BTreeSet<String>,
    properties: Option<String>,
}

impl Tables {
    /// Creates the file. It must not exist, because it may name the tables of another run.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        File::create_new(path)?;
        let tables = Self::at(path, Noted::default());
        tables.write(&Noted::default())?;
        Ok(tables)
    }

    /// Reads the file of an earlier run.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        if text.lines().next() != Some(HEAD) {
            return Err(io::Error::other("it is not a file of tables of this program"));
        }
        let mut noted = Noted::default();
        for line in text.lines().skip(1) {
            if let Some(properties) = line.strip_prefix(PROPERTIES) {
                noted.properties = Some(serde_json::from_str(properties)?);
            } else if !line.is_empty() {
                // A name of Cosmos DB may have any characters.
                noted.names.insert(serde_json::from_str(line)?);
            }
        }
        Ok(Self::at(path, noted))
    }

    fn at(path: &Path, noted: Noted) -> Self {
        Self {
            path: path.to_owned(),
            noted: Mutex::new(noted),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.noted().names.iter().cloned().collect()
    }

    /// Returns the properties to restore.
    pub(crate) fn properties(&self) -> Option<String> {
        self.noted().properties.clone()
    }

    pub(crate) fn add(&self, name: &str) -> io::Result<()> {
        self.change(|noted| noted.names.insert(name.to_owned()))
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        self.change(|noted| noted.names.remove(name))
    }

    pub(crate) fn set_properties(&self, properties: Option<String>) -> io::Result<()> {
        self.change(|noted| {
            let is_new = noted.properties != properties;
            noted.properties = properties;
            is_new
        })
    }

    /// Removes the file if it names nothing.
    pub(crate) fn finish(&self) -> io::Result<bool> {
        let noted = self.noted();
        let is_clean = noted.names.is_empty() && noted.properties.is_none();
        if is_clean {
            fs::remove_file(&self.path)?;
        }
        Ok(is_clean)
    }

    fn change(&self, change: impl FnOnce(&mut Noted) -> bool) -> io::Result<()> {
        let mut noted = self.noted();
        match change(&mut noted) {
            true => self.write(&noted),
            false => Ok(()),
        }
    }

    fn write(&self, noted: &Noted) -> io::Result<()> {
        let json = |text: &String| serde_json::to_string(text).map_err(io::Error::from);
        let mut lines = vec![HEAD.to_owned()];
        if let Some(properties) = &noted.properties {
            lines.push(format!("{PROPERTIES}{}", json(properties)?));
        }
        for name in &noted.names {
            lines.push(json(name)?);
        }
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let mut file = File::create(&new)?;
        file.write_all(format!("{}\n", lines.join("\n")).as_bytes())?;
        file.sync_all()?;
        fs::rename(new, &self.path)
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
