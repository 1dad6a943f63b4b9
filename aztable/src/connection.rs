//! The connections of a run: opens the places that a command names.
//!
//! Each place is opened once: a folder is locked by its first opening. All connections share one meter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use azure_identity::DeveloperToolsCredential;
use azure_table::auth::SasUrl;
use azure_table::emulator::SyncPolicy;
use azure_table::telemetry::CostMeter;
use azure_table::{DynamicEntity, Emulator, EntraCredential, Profile, TableClient, TableServiceClient};
use clap::Args;

use crate::failure::{Done, Failure, InFile as _, fail, usage, with_causes};
use crate::place::{AccountPlace, TablePlace};

/// The account of tables that are named without one.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Account")]
#[group(multiple = false)]
pub(crate) struct AccountOptions {
    /// An account by name, or the URL of its endpoint, with Entra ID: sign in with `az login` first
    #[arg(long, global = true, value_name = "NAME", conflicts_with_all = ["connection_string", "sas_url", "local"])]
    account: Option<AccountPlace>,
    /// A file with a connection string; the environment variable AZURE_STORAGE_CONNECTION_STRING has one directly
    #[arg(long, global = true, value_name = "@FILE", conflicts_with_all = ["sas_url", "local"])]
    connection_string: Option<String>,
    /// A file with the URL of an account and its SAS
    #[arg(long, global = true, value_name = "@FILE", conflicts_with = "local")]
    sas_url: Option<String>,
    /// A folder with tables: no account, no server
    #[arg(long, global = true, value_name = "DIR")]
    local: Option<PathBuf>,
}

/// The variable with the connection string of the account.
const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";

/// An account and its table.
type Opened = (TableServiceClient, TableClient<DynamicEntity>);

/// The connections of a run.
pub(crate) struct Connections {
    default: AccountPlace,
    connection_string: Option<String>,
    opened: Mutex<BTreeMap<String, TableServiceClient>>,
    pub(crate) meter: CostMeter,
}

impl Connections {
    /// Decides which account is meant, without opening it.
    ///
    /// # Errors
    /// A secret is on the command line.
    pub(crate) fn new(options: AccountOptions) -> Done<Self> {
        let file = |option: &str, value: String| match value.strip_prefix('@') {
            Some(file) => Ok(AccountPlace::File(file.into())),
            None => usage!("--{option} takes @FILE: a secret does not belong on the command line"),
        };
        let connection_string = std::env::var(CONNECTION_STRING).ok().filter(|text| !text.is_empty());
        let default = match (
            options.account,
            options.connection_string,
            options.sas_url,
            options.local,
        ) {
            (Some(place), ..) => place,
            (_, Some(text), ..) => file("connection-string", text)?,
            (_, _, Some(url), _) => file("sas-url", url)?,
            (.., Some(folder)) => AccountPlace::Folder(folder),
            _ => AccountPlace::Default,
        };
        Ok(Self {
            default,
            connection_string,
            opened: Mutex::default(),
            meter: CostMeter::new(),
        })
    }

    /// Creates the folder of a place in which a command creates tables. Other commands need it.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(crate) fn create_folder(&self, place: &AccountPlace) -> Done<()> {
        match self.effective(place) {
            AccountPlace::Folder(path) => fs::create_dir_all(path).in_file(path),
            _ => Ok(()),
        }
    }

    /// Returns whether a place is there: a folder may not be yet.
    pub(crate) fn exists(&self, place: &AccountPlace) -> bool {
        !matches!(self.effective(place), AccountPlace::Folder(path) if !path.exists())
    }

    /// Opens an account or a folder.
    ///
    /// # Errors
    /// No account is named, its credential cannot be read, or the folder is absent or cannot be opened.
    pub(crate) fn service(&self, place: &AccountPlace) -> Done<TableServiceClient> {
        let place = self.effective(place);
        let name = match place {
            AccountPlace::Folder(path) if !path.exists() => {
                let path = path.display();
                fail!("{path}: no such folder: `aztable create local:{path}/TABLE` creates it");
            }
            AccountPlace::Folder(path) => path.canonicalize().in_file(path)?.display().to_string(),
            place => place.to_string(),
        };
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = opened.get(&name) {
            return Ok(service.clone());
        }
        let application = concat!("aztable/", env!("CARGO_PKG_VERSION"));
        let service = self.open(place)?.application_id(application);
        let service = service.observer(self.meter.clone());
        opened.insert(name, service.clone());
        Ok(service)
    }

    fn open(&self, place: &AccountPlace) -> Done<TableServiceClient> {
        match place {
            AccountPlace::Default => match &self.connection_string {
                Some(text) => Ok(TableServiceClient::from_connection_string(text)?),
                None => usage!(
                    "no account: set {CONNECTION_STRING}, or use --account NAME, --connection-string @FILE, \
                     --sas-url @FILE or --local DIR"
                ),
            },
            AccountPlace::Named(name) => {
                if let Some(text) = &self.connection_string {
                    let service = TableServiceClient::from_connection_string(text)?;
                    if service.account() == Some(name) {
                        return Ok(service);
                    }
                }
                let storage = format!("https://{name}.table.core.windows.net");
                let endpoint = if name.contains("://") { name } else { &storage };
                let credential =
                    DeveloperToolsCredential::new(None).map_err(|error| Failure::new(with_causes(&error)))?;
                Ok(TableServiceClient::new(endpoint, EntraCredential::new(credential))?)
            }
            AccountPlace::File(path) => from_secret(path),
            AccountPlace::Folder(path) => {
                let emulator = Emulator::open(path, SyncPolicy::Always).in_file(path)?;
                Ok(TableServiceClient::from_transport(emulator))
            }
        }
    }

    /// Opens a table and its account.
    ///
    /// # Errors
    /// The errors of [`service`](Self::service).
    pub(crate) fn service_and_table(&self, place: &TablePlace) -> Done<Opened> {
        let service = self.service(&place.account)?;
        let table = service.dynamic_table(&place.table)?;
        Ok((service, table))
    }

    /// Returns the same text for each spelling of a table's place: equal texts are one table.
    ///
    /// # Errors
    /// The errors of [`service`](Self::service).
    pub(crate) fn identity(&self, account: &AccountPlace, table: &str) -> Done<String> {
        if let AccountPlace::Folder(path) = self.effective(account) {
            return Ok(format!("{}/{}", full(path)?.display(), table.to_ascii_lowercase()));
        }
        let service = self.service(account)?;
        let endpoint = service.endpoint().trim_end_matches('/').to_ascii_lowercase();
        let address = endpoint.split_once("://").map_or(&*endpoint, |(_, address)| address);
        let address = address.replacen("localhost", "127.0.0.1", 1);
        Ok(match service.profile() {
            // It distinguishes the case of table names.
            Profile::Cosmos => format!("{address}/{table}"),
            _ => format!("{address}/{}", table.to_ascii_lowercase()),
        })
    }

    fn effective<'p>(&'p self, place: &'p AccountPlace) -> &'p AccountPlace {
        match place {
            AccountPlace::Default => &self.default,
            place => place,
        }
    }

    /// Returns the name of the account of a table, for the plan of a command and for its position.
    pub(crate) fn described(&self, place: &AccountPlace) -> Done<String> {
        match self.effective(place) {
            AccountPlace::Folder(path) => Ok(format!("local:{}", path.display())),
            place => Ok(self.service(place)?.endpoint().trim_end_matches('/').to_owned()),
        }
    }
}

/// Returns the full path of a folder, even if it is not there yet.
fn full(path: &Path) -> io::Result<PathBuf> {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Err(_), Some(parent), Some(name)) if parent.as_os_str().is_empty() => Ok(full(Path::new("."))?.join(name)),
        (Err(_), Some(parent), Some(name)) => Ok(full(parent)?.join(name)),
        (found, ..) => found,
    }
}

/// Connects with the secret in a file: a connection string, or a URL with a SAS.
fn from_secret(path: &Path) -> Done<TableServiceClient> {
    let secret = fs::read_to_string(path).in_file(path)?;
    let secret = secret.trim();
    let service = match secret.starts_with("http://") || secret.starts_with("https://") {
        // The URL may be that of an account, or of one table.
        true => SasUrl::new(secret).and_then(|url| TableServiceClient::new(url.endpoint(), url.token().clone())),
        false => TableServiceClient::from_connection_string(secret),
    };
    service.in_file(path)
}
