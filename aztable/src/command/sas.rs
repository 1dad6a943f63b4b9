//! `sas`: makes a shared access signature, or explains one.

use std::io;
use std::path::Path;
use std::time::Duration;

use azure_table::auth::{AccountPermissions, AccountResources, SasUrl};
use azure_table::{AccountSas, DateTime, ErrorKind, SasToken, TablePermissions, TableSas};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::connection::place_of;
use crate::failure::{Done, Failure};
use crate::place::AccountPlace;
use crate::session::Session;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
The URL is a secret. Everyone who has it has these rights until it expires; with --policy, until the policy is removed.

Examples:
  aztable sas Orders --permissions r --partition ada --hours 8 > url
  aztable sas show @url")]
pub(crate) struct Sas {
    #[command(subcommand)]
    show: Option<Action>,
    /// The table; without one, the whole account
    table: Option<String>,
    /// The rights: r read, a add, u update, d delete; of an account also w write, l list, c create
    #[arg(long, value_name = "LETTERS", required_unless_present = "policy")]
    permissions: Option<String>,
    /// What the rights of an account are for: s the service, c tables, o rows
    #[arg(long, value_name = "LETTERS", default_value = "co", conflicts_with = "table")]
    resources: String,
    /// A stored access policy of the table, which has the rights and the expiry
    #[arg(long, value_name = "NAME", requires = "table")]
    policy: Option<String>,
    /// Valid for so many hours: 1, unless the policy says it
    #[arg(long, value_name = "N", conflicts_with = "expiry")]
    hours: Option<u32>,
    /// Valid until this time: 2026-12-31T00:00:00Z
    #[arg(long, value_name = "TIME")]
    expiry: Option<DateTime>,
    /// Valid from this time
    #[arg(long, value_name = "TIME")]
    start: Option<DateTime>,
    /// An IP address, or a range: 168.1.5.60-168.1.5.70
    #[arg(long, value_name = "ADDRESS")]
    ip: Option<String>,
    /// Allow HTTP too, which anyone on the way can read
    #[arg(long)]
    allow_http: bool,
    #[command(flatten)]
    keys: KeyRange,
}

/// The rows of a signature for a table.
#[derive(Args)]
#[command(next_help_heading = "Rows")]
struct KeyRange {
    /// Only rows of this partition
    #[arg(long, value_name = "PARTITION_KEY", requires = "table", conflicts_with_all = ["first_partition", "last_partition"])]
    partition: Option<String>,
    /// Only rows from this partition on
    #[arg(long, value_name = "PARTITION_KEY", requires = "table")]
    first_partition: Option<String>,
    /// Only rows up to this partition
    #[arg(long, value_name = "PARTITION_KEY", requires = "table")]
    last_partition: Option<String>,
    /// The first row of the first partition
    #[arg(long, value_name = "ROW_KEY", requires = "table")]
    first_row: Option<String>,
    /// The last row of the last partition
    #[arg(long, value_name = "ROW_KEY", requires = "table")]
    last_row: Option<String>,
}

#[derive(Subcommand)]
enum Action {
    /// Explain a signature without printing it
    Show {
        /// @FILE with a URL or a token, or - for the standard input
        #[arg(value_name = "@FILE|-")]
        file: String,
    },
}

impl Sas {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        if let Some(Action::Show { file }) = &self.show {
            return show(file, session);
        }
        let expiry = match (self.expiry, self.hours, &self.policy) {
            (Some(expiry), ..) => Some(expiry),
            (None, None, Some(_)) => None,
            (None, hours, _) => Some(DateTime::now() + Duration::from_secs(3_600 * u64::from(hours.unwrap_or(1)))),
        };
        let url = match &self.table {
            Some(table) => self.of_table(table, expiry, session).await?,
            None => self.of_account(expiry, session)?,
        };
        session.terminal.result(url.expose())?;
        let place = match &self.table {
            Some(table) => place_of(table)?.account,
            None => AccountPlace::Default,
        };
        if let Some(folder) = session.connections.described(&place)?.strip_prefix("local:") {
            let text = format!("the URL is for a server: azure-table-emulator --data {folder}");
            session.terminal.note(&text);
        }
        Ok(())
    }

    fn of_account(&self, expiry: Option<DateTime>, session: &Session) -> Done<SasUrl> {
        let service = session.connections.default_service()?;
        let permissions: AccountPermissions = self.permissions.as_deref().unwrap_or_default().parse().map_err(usage)?;
        let resources: AccountResources = self.resources.parse().map_err(usage)?;
        let mut sas = AccountSas::new(permissions, resources, expiry.unwrap_or_else(DateTime::now));
        sas = self.start.map_or(sas.clone(), |start| sas.start(start));
        if let Some(ip) = &self.ip {
            sas = sas.ip(ip);
        }
        if !self.allow_http && service.endpoint().starts_with("https") {
            sas = sas.https_only();
        }
        service.sas_url(&sas).map_err(needs_key)
    }

    async fn of_table(&self, table: &str, expiry: Option<DateTime>, session: &Session) -> Done<SasUrl> {
        let (service, table) = session.connections.service_and_table(table)?;
        let mut sas = TableSas::new(table.name());
        if let Some(permissions) = &self.permissions {
            sas = sas.permissions(permissions.parse::<TablePermissions>().map_err(usage)?);
        }
        if let Some(policy) = &self.policy {
            sas = sas.policy(policy);
        }
        sas = expiry.map_or(sas.clone(), |expiry| sas.expiry(expiry));
        sas = self.start.map_or(sas.clone(), |start| sas.start(start));
        if let Some(ip) = &self.ip {
            sas = sas.ip(ip);
        }
        if !self.allow_http && service.endpoint().starts_with("https") {
            sas = sas.https_only();
        }
        let keys = &self.keys;
        for (partition, row, is_first) in [
            (&keys.first_partition, &keys.first_row, true),
            (&keys.last_partition, &keys.last_row, false),
        ] {
            let row = row.clone();
            sas = match (partition.as_ref().or(keys.partition.as_ref()), is_first) {
                (Some(partition), true) => sas.first(partition, row.unwrap_or_default()),
                (Some(partition), false) => sas.last(partition, row.unwrap_or_default()),
                (None, _) if row.is_some() => {
                    return Err(Failure::usage("a row of no partition: add --partition PARTITION_KEY"));
                }
                (None, _) => sas,
            };
        }
        if service.account_key().is_some() {
            return Ok(table.sas_url(&sas)?);
        }
        let expiry = expiry.ok_or_else(|| Failure::usage("a policy needs an account key; name --hours or --expiry"))?;
        let key = service.user_delegation_key(expiry).await.map_err(needs_key)?;
        Ok(table.delegated_sas_url(&sas, &key)?)
    }
}

fn usage(error: azure_table::Error) -> Failure {
    Failure::usage(error.to_string())
}

/// Says what signs, if this account does not.
fn needs_key(error: azure_table::Error) -> Failure {
    match error.kind() {
        ErrorKind::Unsupported => Failure::new(
            "only an account key or Entra ID signs: use a connection string with AccountKey; for a table, also --account",
        ),
        _ => error.into(),
    }
}

/// Prints the parts of a signature.
fn show(file: &str, session: &Session) -> Done<()> {
    let text = match (file, file.strip_prefix('@')) {
        ("-", _) => io::read_to_string(io::stdin())?,
        (_, Some(path)) => std::fs::read_to_string(path).map_err(|error| Failure::of_file(Path::new(path), error))?,
        _ => {
            let text = "`sas show` takes @FILE or -: a signature does not belong on the command line";
            return Err(Failure::usage(text));
        }
    };
    let text = text.trim();
    let (token, endpoint) = match text.contains("://") {
        true => SasUrl::new(text).map(|url| (url.token().clone(), Some(url.endpoint().to_owned())))?,
        false => (SasToken::new(text)?, None),
    };
    let parts = token.parts();
    let keys = |end: Option<(String, String)>| end.map(|(partition, row)| format!("({partition:?}, {row:?})"));
    let time = |time: Option<DateTime>| time.map(|time| time.to_string());
    let now = DateTime::now();
    let is_expired = parts.expiry.map(|expiry| expiry <= now);
    let is_early = parts.start.is_some_and(|start| start > now);
    let state = match (is_expired, is_early) {
        (Some(true), _) => "expired",
        (_, true) => "not valid yet",
        (Some(false), _) => "valid, if its key is",
        (None, _) => "valid until its policy says",
    };
    let lines = [
        ("state", Some(state.to_owned())),
        ("endpoint", endpoint),
        ("table", parts.table),
        ("permissions", Some(parts.permissions)),
        ("resources", Some(parts.resources)),
        ("services", Some(parts.services)),
        ("policy", parts.policy),
        ("start", time(parts.start)),
        ("expiry", time(parts.expiry)),
        ("first row", keys(parts.from)),
        ("last row", keys(parts.to)),
        ("address", parts.ip),
        (
            "protocol",
            Some(if parts.https_only { "https" } else { "https or http" }.to_owned()),
        ),
        ("delegated by", parts.delegated_by),
        ("version", parts.version),
    ];
    let lines = lines
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)));
    if session.terminal.json {
        let members = lines.map(|(name, value)| (name.replace(' ', "_"), value.into()));
        return session
            .terminal
            .result(json!(members.collect::<serde_json::Map<_, _>>()));
    }
    for (name, value) in lines {
        session.terminal.result(format!("{name:<12}  {value}"))?;
    }
    Ok(())
}
