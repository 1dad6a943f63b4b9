//! `cors` and `properties`: the settings of an account's Table service.

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
        let plan = match self.action {
            CorsAction::Show => {
                return rules
                    .iter()
                    .try_for_each(|rule| session.terminal.result(rule_json(rule)));
            }
            CorsAction::Clear => {
                rules.clear();
                "remove all CORS rules".to_owned()
            }
            CorsAction::Add(rule) => {
                let rule = CorsRule {
                    allowed_headers: rule.header,
                    exposed_headers: rule.expose,
                    max_age: Duration::from_secs(rule.max_age.into()),
                    ..CorsRule::new(rule.origin, rule.method)
                };
                let plan = format!("add the CORS rule {}", rule_json(&rule));
                rules.push(rule);
                plan
            }
        };
        change(session, &service, &plan, ServiceProperties::default().cors(rules)).await
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
#[group(required = true, multiple = true)]
struct Changes {
    /// The requests that are logged: r reads, w writes, d deletes, or none
    #[arg(long, value_name = "LETTERS")]
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
        match self.action {
            PropertiesAction::Show => {
                let properties = service.properties().await?;
                let lines = [
                    ("logging", properties.logging.map(|logging| logging_json(&logging))),
                    (
                        "hour_metrics",
                        properties.hour_metrics.map(|metrics| metrics_json(&metrics)),
                    ),
                    (
                        "minute_metrics",
                        properties.minute_metrics.map(|metrics| metrics_json(&metrics)),
                    ),
                    (
                        "cors",
                        properties.cors.map(|rules| rules.iter().map(rule_json).collect()),
                    ),
                ];
                if session.terminal.json {
                    let members = lines
                        .into_iter()
                        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
                    return session.terminal.result(Value::Object(members.collect()));
                }
                let print = |(name, value): (&str, Option<Value>)| match value {
                    Some(value) => session.terminal.result(format!("{name:<14}  {value}")),
                    None => Ok(()),
                };
                lines.into_iter().try_for_each(print)
            }
            PropertiesAction::Set(changes) => {
                let mut properties = ServiceProperties::default();
                let mut plan = Vec::new();
                if let Some(letters) = &changes.logging {
                    let logging = logging(letters, changes.keep_days)?;
                    plan.push(format!("logging {}", logging_json(&logging)));
                    properties = properties.logging(logging);
                }
                let metrics = |level| Metrics {
                    enabled: level != Level::Off,
                    include_apis: level == Level::Apis,
                    retention_days: changes.keep_days,
                    ..Metrics::default()
                };
                if let Some(metrics) = changes.hour_metrics.map(metrics) {
                    plan.push(format!("hour metrics {}", metrics_json(&metrics)));
                    properties = properties.hour_metrics(metrics);
                }
                if let Some(metrics) = changes.minute_metrics.map(metrics) {
                    plan.push(format!("minute metrics {}", metrics_json(&metrics)));
                    properties = properties.minute_metrics(metrics);
                }
                if plan.is_empty() {
                    return Err(Failure::usage(
                        "nothing to set: --logging, --hour-metrics or --minute-metrics",
                    ));
                }
                change(session, &service, &format!("set {}", plan.join(", ")), properties).await
            }
        }
    }
}

/// Changes the settings of an account, after a question.
async fn change(
    session: &Session,
    service: &TableServiceClient,
    plan: &str,
    properties: ServiceProperties,
) -> Done<()> {
    let account = session.connections.described(&AccountPlace::Default)?;
    session.terminal.confirm(&format!("{plan} at {account}"))?;
    service.set_properties(properties).await?;
    session.terminal.note("done; it has an effect within 30 seconds");
    Ok(())
}

fn logging(letters: &str, retention_days: Option<u32>) -> Done<Logging> {
    if letters != "none" && (letters.is_empty() || letters.contains(|letter| !"rwd".contains(letter))) {
        return Err(Failure::usage(format!(
            "--logging {letters:?}: letters of rwd, or none"
        )));
    }
    let has = |letter| letters != "none" && letters.contains(letter);
    Ok(Logging {
        read: has('r'),
        write: has('w'),
        delete: has('d'),
        retention_days,
        ..Logging::default()
    })
}

fn logging_json(logging: &Logging) -> Value {
    json!({
        "read": logging.read, "write": logging.write, "delete": logging.delete, "keep_days": logging.retention_days,
    })
}

fn metrics_json(metrics: &Metrics) -> Value {
    json!({ "enabled": metrics.enabled, "apis": metrics.include_apis, "keep_days": metrics.retention_days })
}

fn rule_json(rule: &CorsRule) -> Value {
    json!({
        "origins": rule.allowed_origins, "methods": rule.allowed_methods, "headers": rule.allowed_headers,
        "expose": rule.exposed_headers, "max_age": rule.max_age.as_secs(),
    })
}
