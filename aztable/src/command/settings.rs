//! `cors` and `properties`: the settings of an account's Table service, shown as JSON.

use std::time::Duration;

use azure_table::TableServiceClient;
use azure_table::service::{CorsRule, Logging, Metrics, ServiceProperties};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::failure::{Done, Failure};
use crate::place::AccountPlace;
use crate::session::Session;

#[derive(Args)]
#[command(after_help = "\
An account has at most 5 rules, the first that matches applies. A page needs a SAS as well.

Examples:
  aztable cors add --origin https://contoso.com --method GET,PUT --header content-type
  aztable cors clear --account contoso")]
pub(crate) struct Cors {
    #[command(subcommand)]
    action: CorsAction,
}

#[derive(Subcommand)]
enum CorsAction {
    /// Print the rules
    Show,
    /// Add a rule
    Add(Rule),
    /// Remove all rules
    Clear,
}

#[derive(Args)]
struct Rule {
    /// The origins: https://contoso.com, or * for any
    #[arg(long, value_name = "ORIGIN,…", value_delimiter = ',', required = true)]
    origin: Vec<String>,
    /// The methods: GET, PUT, POST, MERGE, DELETE, …
    #[arg(long, value_name = "METHOD,…", value_delimiter = ',', required = true)]
    method: Vec<String>,
    /// The headers that a page may send
    #[arg(long, value_name = "HEADER,…", value_delimiter = ',')]
    header: Vec<String>,
    /// The headers that a page may read
    #[arg(long, value_name = "HEADER,…", value_delimiter = ',')]
    expose: Vec<String>,
    /// The time for which a browser keeps the rule
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600)]
    max_age: u32,
}

impl Cors {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let service = session.connections.default_service()?;
        let mut rules = service.properties().await?.cors.unwrap_or_default();
        match self.action {
            CorsAction::Show => {
                return rules
                    .iter()
                    .try_for_each(|rule| session.terminal.result(rule_json(rule)));
            }
            CorsAction::Clear => rules.clear(),
            CorsAction::Add(rule) => rules.push(CorsRule {
                allowed_headers: rule.header,
                exposed_headers: rule.expose,
                max_age: Duration::from_secs(rule.max_age.into()),
                ..CorsRule::new(rule.origin, rule.method)
            }),
        }
        change(session, &service, ServiceProperties::default().cors(rules)).await
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  aztable properties show
  aztable properties set --hour-metrics apis --logging wd --keep-days 7")]
pub(crate) struct Properties {
    #[command(subcommand)]
    action: PropertiesAction,
}

#[derive(Subcommand)]
enum PropertiesAction {
    /// Print logging, metrics and CORS
    Show,
    /// Change logging and metrics; what is not named stays
    Set(Changes),
}

#[derive(Args)]
struct Changes {
    /// The requests that are logged: r reads, w writes, d deletes, or none
    #[arg(long, value_name = "LETTERS", required_unless_present_any = ["hour_metrics", "minute_metrics"])]
    logging: Option<String>,
    /// Metrics of each hour
    #[arg(long, value_name = "LEVEL")]
    hour_metrics: Option<Level>,
    /// Metrics of each minute
    #[arg(long, value_name = "LEVEL")]
    minute_metrics: Option<Level>,
    /// Keep what these options record for so many days; without it, forever
    #[arg(long, value_name = "N")]
    keep_days: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    Off,
    /// Totals
    On,
    /// Totals, and each operation
    Apis,
}

impl Properties {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let service = session.connections.default_service()?;
        let changes = match self.action {
            PropertiesAction::Show => return session.terminal.result(json(&service.properties().await?)),
            PropertiesAction::Set(changes) => changes,
        };
        let metrics = |level| Metrics {
            enabled: level != Level::Off,
            include_apis: level == Level::Apis,
            retention_days: changes.keep_days,
            ..Metrics::default()
        };
        let mut properties = ServiceProperties::default();
        properties.logging = changes
            .logging
            .map(|letters| logging(&letters, changes.keep_days))
            .transpose()?;
        properties.hour_metrics = changes.hour_metrics.map(metrics);
        properties.minute_metrics = changes.minute_metrics.map(metrics);
        change(session, &service, properties).await
    }
}

/// Changes the settings of an account, after a question.
async fn change(session: &Session, service: &TableServiceClient, properties: ServiceProperties) -> Done<()> {
    let account = session.connections.described(&AccountPlace::Default)?;
    session
        .terminal
        .confirm(&format!("set at {account}: {}", json(&properties)))?;
    service.set_properties(properties).await?;
    session.terminal.note("done");
    Ok(())
}

fn logging(letters: &str, retention_days: Option<u32>) -> Done<Logging> {
    if letters != "none" && (letters.is_empty() || letters.contains(|letter| !"rwd".contains(letter))) {
        return Err(Failure::usage(format!(
            "--logging {letters:?}: letters of rwd, or none"
        )));
    }
    let has = |letter| letters != "none" && letters.contains(letter);
    let (read, write, delete) = (has('r'), has('w'), has('d'));
    Ok(Logging {
        read,
        write,
        delete,
        retention_days,
        ..Logging::default()
    })
}

/// Returns the settings that are set.
fn json(properties: &ServiceProperties) -> Value {
    let logging = properties.logging.as_ref().map(|logging| {
        let (read, write, delete) = (logging.read, logging.write, logging.delete);
        json!({ "read": read, "write": write, "delete": delete, "keep_days": logging.retention_days })
    });
    let metrics = |metrics: &Option<Metrics>| {
        let metrics = metrics.as_ref()?;
        let (enabled, apis) = (metrics.enabled, metrics.include_apis);
        Some(json!({ "enabled": enabled, "apis": apis, "keep_days": metrics.retention_days }))
    };
    let (hours, minutes) = (metrics(&properties.hour_metrics), metrics(&properties.minute_metrics));
    let cors = properties
        .cors
        .as_ref()
        .map(|rules| rules.iter().map(rule_json).collect());
    let members = [
        ("logging", logging),
        ("hour_metrics", hours),
        ("minute_metrics", minutes),
        ("cors", cors),
    ];
    members
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

fn rule_json(rule: &CorsRule) -> Value {
    json!({
        "origins": rule.allowed_origins, "methods": rule.allowed_methods, "headers": rule.allowed_headers,
        "expose": rule.exposed_headers, "max_age": rule.max_age.as_secs(),
    })
}
