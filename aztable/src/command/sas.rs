//! `sas`: makes a shared access signature, or explains one.

use std::io;
use std::time::Duration;

use azure_table::auth::{AccountPermissions, AccountResources, SasUrl};
use azure_table::{AccountSas, DateTime, ErrorKind, SasToken, TableSas};
use clap::{Args, Subcommand, value_parser};
use serde_json::Value;

use crate::failure::{Done, Failure, InFile as _, usage};
use crate::place::{AccountPlace, TablePlace};
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
    table: Option<TablePlace>,
    /// The rights: r read, a add, u update, d delete; of an account also w write, l list, c create
    #[arg(long, value_name = "LETTERS", required_unless_present = "policy")]
    permissions: Option<String>,
    /// The resources of an account's rights: s the service, c tables, o rows
    #[arg(long, value_name = "LETTERS", default_value = "co", conflicts_with = "table")]
    resources: String,
    /// A stored access policy of the table, which has the rights and the expiry
    #[arg(long, value_name = "NAME", requires = "table")]
    policy: Option<String>,
    /// Valid for so many hours: 1, unless the policy says it
    #[arg(long, value_name = "N", conflicts_with = "expiry", value_parser = value_parser!(u32).range(1..))]
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
    /// Only rows of this partition
    #[arg(long, value_name = "PARTITION_KEY", requires = "table")]
    partition: Option<String>,
}

/// Sets what signatures of tables and of accounts have in common.
macro_rules! restricted {
    ($sas:expr, $options:expr, $expiry:expr, $service:expr) => {{
        let sas = $expiry.into_iter().fold($sas, |sas, expiry| sas.expiry(expiry));
        let sas = $options.start.into_iter().fold(sas, |sas, start| sas.start(start));
        let sas = $options.ip.iter().fold(sas, |sas, ip| sas.ip(ip));
        let is_http = $options.allow_http || !$service.endpoint().starts_with("https");
        if is_http { sas } else { sas.https_only() }
    }};
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
        let hours = self.hours.or(self.policy.is_none().then_some(1));
        let end = hours.map(|hours| DateTime::now() + Duration::from_secs(3_600 * u64::from(hours)));
        let expiry = self.expiry.or(end);
        let url = match &self.table {
            Some(table) => self.of_table(table, expiry, session).await?,
            None => self.of_account(expiry, session)?,
        };
        session.terminal.result(url.expose())?;
        let place = self.table.map(|place| place.account).unwrap_or_default();
        if let Some(folder) = session.connections.described(&place)?.strip_prefix("local:") {
            let text = format!("the URL is for a server: azure-table-emulator --data {folder}");
            session.note(&text);
        }
        Ok(())
    }

    fn of_account(&self, expiry: Option<DateTime>, session: &Session) -> Done<SasUrl> {
        let service = session.connections.service(&AccountPlace::Default)?;
        let letters = self.permissions.as_deref().unwrap_or_default();
        let permissions: AccountPermissions = letters.parse()?;
        let resources: AccountResources = self.resources.parse()?;
        let sas = AccountSas::new(permissions, resources, DateTime::now());
        let url = service.sas_url(&restricted!(sas, self, expiry, service));
        url.map_err(needs_key)
    }

    async fn of_table(&self, table: &TablePlace, expiry: Option<DateTime>, session: &Session) -> Done<SasUrl> {
        let (service, table) = session.connections.service_and_table(table)?;
        let mut sas = restricted!(TableSas::new(table.name()), self, expiry, service);
        if let Some(letters) = &self.permissions {
            sas = sas.permissions(letters.parse()?);
        }
        let partition = self.partition.iter();
        let sas = partition.fold(sas, |sas, partition| sas.first(partition, "").last(partition, ""));
        let sas = self.policy.iter().fold(sas, |sas, policy| sas.policy(policy));
        if service.account_key().is_some() {
            return Ok(table.sas_url(&sas)?);
        }
        let expiry = expiry.ok_or_else(|| Failure::usage("a policy needs an account key; name --hours or --expiry"))?;
        let key = service.user_delegation_key(expiry).await.map_err(needs_key)?;
        Ok(table.delegated_sas_url(&sas, &key)?)
    }
}

/// Says what signs, if this account does not.
fn needs_key(error: azure_table::Error) -> Failure {
    let text = "only an account key or Entra ID signs: use a connection string with a key; for a table also --account";
    match error.kind() {
        ErrorKind::Unsupported => Failure::new(text),
        _ => error.into(),
    }
}

/// Prints the parts of a signature.
fn show(file: &str, session: &Session) -> Done<()> {
    let text = match (file, file.strip_prefix('@')) {
        ("-", _) => io::read_to_string(io::stdin())?,
        (_, Some(path)) => std::fs::read_to_string(path).in_file(path.as_ref())?,
        _ => usage!("`sas show` takes @FILE or -: a signature does not belong on the command line"),
    };
    let text = text.trim();
    let (token, endpoint) = match text.contains("://") {
        true => SasUrl::new(text).map(|url| (url.token().clone(), Some(url.endpoint().to_owned())))?,
        false => (SasToken::new(text)?, None),
    };
    let parts = token.parts();
    let now = DateTime::now();
    let state = match (parts.start, parts.expiry) {
        (_, Some(expiry)) if expiry <= now => "expired",
        (Some(start), _) if start > now => "not valid yet",
        (_, Some(_)) => "valid, if its key is",
        (_, None) => "valid until its policy says",
    };
    let protocol = if parts.https_only { "https" } else { "https or http" };
    let lines = [
        ("state", Some(state.to_owned())),
        ("endpoint", endpoint),
        ("table", parts.table),
        ("permissions", Some(parts.permissions)),
        ("resources", Some(parts.resources)),
        ("services", Some(parts.services)),
        ("policy", parts.policy),
        ("start", parts.start.map(|start| start.to_string())),
        ("expiry", parts.expiry.map(|expiry| expiry.to_string())),
        ("first row", parts.from.map(|keys| format!("{keys:?}"))),
        ("last row", parts.to.map(|keys| format!("{keys:?}"))),
        ("address", parts.ip),
        ("protocol", Some(protocol.to_owned())),
        ("delegated by", parts.delegated_by),
        ("version", parts.version),
    ];
    let lines = lines.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let mut lines = lines.filter(|(_, value)| !value.is_empty());
    if session.terminal.json {
        let members = lines.map(|(name, value)| (name.replace(' ', "_"), value));
        return session.terminal.result(members.collect::<Value>());
    }
    lines.try_for_each(|(name, value)| session.terminal.result(format!("{name:<12}  {value}")))
}
