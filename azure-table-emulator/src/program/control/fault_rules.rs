//! Fault rules as JSON.
//!
//! Defines the JSON form of a rule, and the limits of rules. The faults and their rules belong to the test kit
//! (`azure_table::testing`). This file lists the faults that a client can distinguish over a port.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_emulator::{Emulator, InjectedError};
use azure_table_testing::{AddedRule, Fault, FaultRule, Faults, ResponseTemplate, computed_response};
use azure_table_wire::error::operation_kind::OperationKind;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::control::json;
use crate::control::response::push_line;

/// The maximum number of rules: each request passes all of them.
const MAX_RULES: usize = 100;
/// The maximum delay, in milliseconds: a day.
const MAX_MILLISECONDS: u64 = 86_400_000;

/// The headers that frame a response; the server sets them.
const FRAMING: [&str; 3] = ["connection", "content-length", "transfer-encoding"];

/// The operations of requests, besides `reads` and `writes`.
const OPERATIONS: [(&str, OperationKind); 19] = [
    ("insert", OperationKind::Insert),
    ("replace", OperationKind::Replace),
    ("merge", OperationKind::Merge),
    ("insertOrReplace", OperationKind::InsertOrReplace),
    ("insertOrMerge", OperationKind::InsertOrMerge),
    ("delete", OperationKind::Delete),
    ("get", OperationKind::Get),
    ("query", OperationKind::Query),
    ("batch", OperationKind::Batch),
    ("createTable", OperationKind::CreateTable),
    ("deleteTable", OperationKind::DeleteTable),
    ("getTable", OperationKind::GetTable),
    ("listTables", OperationKind::ListTables),
    ("getAccessPolicies", OperationKind::GetAccessPolicies),
    ("setAccessPolicies", OperationKind::SetAccessPolicies),
    ("getServiceProperties", OperationKind::GetServiceProperties),
    ("setServiceProperties", OperationKind::SetServiceProperties),
    ("getServiceStatistics", OperationKind::GetServiceStatistics),
    ("getUserDelegationKey", OperationKind::GetUserDelegationKey),
];

/// The faults of the port and their rules.
pub(super) struct FaultRules {
    faults: Faults,
    emulator: Emulator,
    rules: Mutex<ActiveRules>,
}

#[derive(Default)]
struct ActiveRules {
    count: u64,
    active: Vec<Active>,
}

struct Active {
    id: u64,
    json: RuleJson,
    rule: AddedRule,
}

/// The members of a fault in JSON, besides its name.
enum Kind {
    /// No further members.
    Plain(Fault),
    /// `bytes`.
    Cut,
    /// `milliseconds`.
    Timed(fn(Duration) -> Fault),
    /// `status`, `code`, `message` and `headers`.
    Responding(fn(ResponseTemplate) -> Fault),
    /// The same, and `index`.
    FailingBatch,
}

static KINDS: [(&str, Kind); 12] = [
    ("loseRequest", Kind::Plain(Fault::LoseRequest)),
    ("loseResponse", Kind::Plain(Fault::LoseResponse)),
    ("cutResponse", Kind::Cut),
    ("delayRequest", Kind::Timed(Fault::DelayRequest)),
    ("delayResponse", Kind::Timed(Fault::DelayResponse)),
    ("hangRequest", Kind::Plain(Fault::HangRequest)),
    ("hangResponse", Kind::Plain(Fault::HangResponse)),
    ("respond", Kind::Responding(Fault::Respond)),
    ("respondAfterApplying", Kind::Responding(Fault::RespondAfterApplying)),
    ("failBatchPart", Kind::FailingBatch),
    ("dateAhead", Kind::Timed(Fault::DateAhead)),
    ("dateBehind", Kind::Timed(Fault::DateBehind)),
];

/// A rule: a fault, its parameters, and the requests that it affects.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RuleJson {
    fault: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    milliseconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    operations: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    table: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nth: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most: Option<u64>,
    // Members of a response, accepted so that a client can send the response back.
    #[serde(default, rename = "id", skip_serializing)]
    _id: IgnoredAny,
    #[serde(default, rename = "matched", skip_serializing)]
    _matched: IgnoredAny,
    #[serde(default, rename = "hits", skip_serializing)]
    _hits: IgnoredAny,
}

/// An active rule with its counts.
#[derive(Serialize)]
struct ActiveJson<'a> {
    id: u64,
    #[serde(flatten)]
    rule: &'a RuleJson,
    matched: u64,
    hits: u64,
}

impl FaultRules {
    pub(super) fn new(faults: Faults, emulator: Emulator) -> Self {
        Self {
            faults,
            emulator,
            rules: Mutex::default(),
        }
    }

    /// Returns the active rules in their order, as lines.
    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        for Active { id, json, rule } in &self.rules().active {
            let json = ActiveJson {
                id: *id,
                rule: json,
                matched: rule.matched(),
                hits: rule.hits(),
            };
            push_line(&mut lines, &json);
        }
        lines
    }

    /// Adds rules after the existing ones, or in place of them. Adds all rules, or none.
    pub(super) fn add(&self, text: &str, replace: bool) -> Result<(), String> {
        let mut rules = Vec::new();
        let parts = json::values(text).map_err(|(number, why)| format!("rule {number}: {why}"))?;
        for (number, part) in (1..).zip(parts) {
            let json: RuleJson = json::object(part).map_err(|why| format!("rule {number}: {why}"))?;
            let rule = json
                .rule(&self.emulator)
                .map_err(|why| format!("rule {number}: {why}"))?;
            rules.push((json, rule));
        }
        if rules.is_empty() {
            return Err("body: it has no rule, such as {\"fault\":\"loseResponse\"}".to_owned());
        }
        let mut own = self.rules();
        let count = rules.len() + if replace { 0 } else { own.active.len() };
        if count > MAX_RULES {
            return Err(format!("rules: {count}, more than the limit of {MAX_RULES}"));
        }
        if replace {
            self.faults.clear();
            own.active.clear();
        }
        for (json, rule) in rules {
            own.count += 1;
            let id = own.count;
            let rule = self.faults.add(rule);
            own.active.push(Active { id, json, rule });
        }
        Ok(())
    }

    /// Removes a rule. Returns `false` if it does not exist.
    pub(super) fn remove(&self, id: u64) -> bool {
        let mut rules = self.rules();
        let Some(place) = rules.active.iter().position(|active| active.id == id) else {
            return false;
        };
        self.faults.remove(&rules.active.remove(place).rule);
        true
    }

    pub(super) fn clear(&self) {
        let mut rules = self.rules();
        self.faults.clear();
        rules.active.clear();
    }

    fn rules(&self) -> MutexGuard<'_, ActiveRules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RuleJson {
    fn rule(&self, emulator: &Emulator) -> Result<FaultRule, String> {
        let mut rule = FaultRule::new(self.fault(emulator)?);
        for name in &self.operations {
            rule = match (name.as_str(), OPERATIONS.iter().find(|(known, _)| known == name)) {
                (_, Some((_, kind))) => rule.on(*kind),
                ("reads", None) => rule.on_reads(),
                ("writes", None) => rule.on_writes(),
                (_, None) => {
                    let known = OPERATIONS.map(|(name, _)| name).join(", ");
                    return Err(format!("operations: {name:?} is not one of reads, writes, {known}"));
                }
            };
        }
        if let Some(table) = &self.table {
            rule = rule.table(table);
        }
        let chosen = [self.nth, self.first, self.every];
        let count = chosen.iter().flatten().count() + usize::from(self.probability.is_some());
        if count > 1 {
            return Err(format!(
                "nth, first, every, probability: {count} of them, at most 1 is allowed"
            ));
        }
        for (name, value) in ["nth", "first", "every"].into_iter().zip(chosen) {
            rule = match (name, value) {
                (_, None) => rule,
                (_, Some(0)) => return Err(format!("{name}: 0, it must be 1 or more")),
                ("nth", Some(n)) => rule.nth(n),
                ("first", Some(n)) => rule.first(n),
                (_, Some(n)) => rule.every(n),
            };
        }
        if let Some(probability) = self.probability {
            if !(0.0..=1.0).contains(&probability) {
                return Err(format!("probability: {probability}, it must be 0 to 1"));
            }
            rule = rule.probability(probability);
        }
        Ok(match self.at_most {
            Some(hits) => rule.at_most(hits),
            None => rule,
        })
    }

    fn fault(&self, emulator: &Emulator) -> Result<Fault, String> {
        let kind = KINDS.iter().find(|(name, _)| *name == self.fault);
        let (_, kind) = kind.ok_or_else(|| {
            let known: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
            format!("fault: {:?} is not one of {}", self.fault, known.join(", "))
        })?;
        self.check_members(kind)?;
        Ok(match kind {
            Kind::Plain(fault) => fault.clone(),
            Kind::Cut => Fault::CutResponse {
                at: self.bytes.ok_or("bytes: missing, the bytes of the body that arrive")?,
            },
            Kind::Timed(fault) => fault(self.time()?),
            Kind::Responding(fault) => fault(self.response(emulator)?),
            Kind::FailingBatch => Fault::FailBatchPart(self.response(emulator)?),
        })
    }

    /// Rejects members that have no meaning for the fault.
    fn check_members(&self, kind: &Kind) -> Result<(), String> {
        let has_time = matches!(kind, Kind::Timed(_));
        let has_response = matches!(kind, Kind::Responding(_) | Kind::FailingBatch);
        for (name, is_present, is_known) in [
            ("milliseconds", self.milliseconds.is_some(), has_time),
            ("bytes", self.bytes.is_some(), matches!(kind, Kind::Cut)),
            ("status", self.status.is_some(), has_response),
            ("code", self.code.is_some(), has_response),
            ("message", self.message.is_some(), has_response),
            ("headers", !self.headers.is_empty(), has_response),
            ("index", self.index.is_some(), matches!(kind, Kind::FailingBatch)),
        ] {
            if is_present && !is_known {
                return Err(format!("{name}: not a member of {}", self.fault));
            }
        }
        Ok(())
    }

    fn time(&self) -> Result<Duration, String> {
        match self.milliseconds {
            None => Err(format!("milliseconds: missing, from 0 to {MAX_MILLISECONDS}")),
            Some(time) if time > MAX_MILLISECONDS => {
                Err(format!("milliseconds: {time}, it must be 0 to {MAX_MILLISECONDS}"))
            }
            Some(time) => Ok(Duration::from_millis(time)),
        }
    }

    fn response(&self, emulator: &Emulator) -> Result<ResponseTemplate, String> {
        let status = self.status.ok_or("status: missing, from 200 to 599")?;
        if !(200..=599).contains(&status) {
            return Err(format!("status: {status}, it must be 200 to 599"));
        }
        let headers = self.headers()?;
        if let (Some(code), None) = (&self.code, &self.message) {
            let known = InjectedError::new(status, code, headers, emulator);
            let injected = known.ok_or_else(|| format!("code: {code:?} has no text of the service; set message"))?;
            let (index, emulator) = (self.index.unwrap_or_default(), emulator.clone());
            return Ok(match self.fault.as_str() {
                "failBatchPart" => computed_response(move |it| injected.batch_response(index, &emulator, it)),
                _ => computed_response(move |it| injected.response(&emulator, it)),
            });
        }
        if self.index.is_some() {
            return Err("index: it needs a code and no message, which begins with the index".to_owned());
        }
        let mut response = ResponseTemplate::new(status);
        if let Some(code) = &self.code {
            response = response.code(code);
        }
        if let Some(message) = &self.message {
            if self.code.is_none() {
                return Err("message: it needs a code".to_owned());
            }
            response = response.message(message);
        }
        Ok(self
            .headers
            .iter()
            .fold(response, |response, (name, value)| response.header(name, value)))
    }

    fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let header = HeaderName::try_from(name).map_err(|_| format!("headers: {name:?} is not a header name"))?;
            if FRAMING.contains(&header.as_str()) {
                return Err(format!("headers: {name} belongs to the connection"));
            }
            let value = HeaderValue::try_from(value)
                .map_err(|_| format!("headers: {name}: {value:?} is not a header value"))?;
            headers.insert(header, value);
        }
        Ok(headers)
    }
}
