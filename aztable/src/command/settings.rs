//! `cors` and `properties`: the settings of an account's Table service, shown as JSON.

use std::time::Duration;

use azure_table::service::{CorsRule, Metrics, ServiceProperties};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::failure::Done;
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
    /// The origins, as `https://contoso.com`, or * for any
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
        let service = session.connections.service(&AccountPlace::Default)?;
        let mut rules = service.properties().await?.cors.unwrap_or_default();
        match self.action {
            CorsAction::Show => {
                let mut rules = rules.iter();
                return rules.try_for_each(|rule| session.terminal.result(rule_json(rule)));
            }
            CorsAction::Clear => rules.clear(),
            CorsAction::Add(rule) => rules.push(CorsRule {
                allowed_headers: rule.header,
                exposed_headers: rule.expose,
                max_age: Duration::from_secs(rule.max_age.into()),
                ..CorsRule::new(rule.origin, rule.method)
            }),
        }
        let properties = ServiceProperties::default().cors(rules);
        let account = session.connections.described(&AccountPlace::Default)?;
        session.confirm(&format!("set at {account}: {}", json(&properties)))?;
        service.set_properties(properties).await?;
        session.note("done");
        Ok(())
    }
}

/// Prints logging, metrics and CORS.
#[derive(Args)]
pub(crate) struct Properties {}

impl Properties {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let service = session.connections.service(&AccountPlace::Default)?;
        session.terminal.result(json(&service.properties().await?))
    }
}

/// Returns the settings that are set.
fn json(properties: &ServiceProperties) -> Value {
    let logging = properties.logging.as_ref().map(
        |log| json!({ "read": log.read, "write": log.write, "delete": log.delete, "keep_days": log.retention_days }),
    );
    let metrics = |metrics: &Option<Metrics>| {
        let metrics = metrics.as_ref()?;
        Some(json!({ "enabled": metrics.enabled, "apis": metrics.include_apis, "keep_days": metrics.retention_days }))
    };
    let cors = properties.cors.as_ref();
    let all = [
        ("logging", logging),
        ("hour_metrics", metrics(&properties.hour_metrics)),
        ("minute_metrics", metrics(&properties.minute_metrics)),
        ("cors", cors.map(|rules| rules.iter().map(rule_json).collect())),
    ];
    let set = all.into_iter().filter_map(|(name, value)| Some((name, value?)));
    set.collect()
}

fn rule_json(rule: &CorsRule) -> Value {
    json!({
        "origins": rule.allowed_origins, "methods": rule.allowed_methods, "headers": rule.allowed_headers,
        "expose": rule.exposed_headers, "max_age": rule.max_age.as_secs(),
    })
}
