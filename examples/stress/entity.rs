//! The entities of a workload: templates of keys, and columns with random values.

use azure_table::{DateTime, DynamicEntity, EdmValue, Guid};
use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// The most characters of a string property are 32,768.
const LONGEST: usize = 32_000;

/// The place of a worker among the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worker {
    pub(crate) vm: usize,
    /// In its VM.
    pub(crate) worker: usize,
    /// Over all VMs.
    pub(crate) all: usize,
}

/// A key with placeholders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Job,
    Guid,
    Number(Field, Change),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Vm,
    Worker,
    All,
    N,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    Divide(u64),
    Remainder(u64),
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after
                .split_once('}')
                .ok_or_else(|| format!("{text}: a {{ without its }}"))?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(part(name)?);
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        parts.retain(|part| *part != Part::Text(String::new()));
        Ok(Self { text, parts })
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.text
    }
}

fn part(name: &str) -> Result<Part, String> {
    let at = name.find(['/', '%']).unwrap_or(name.len());
    let (field, change) = name.split_at(at);
    let field = match field {
        "job" if change.is_empty() => return Ok(Part::Job),
        "guid" if change.is_empty() => return Ok(Part::Guid),
        "vm" => Field::Vm,
        "worker" => Field::Worker,
        "all" => Field::All,
        "n" => Field::N,
        _ => {
            return Err(format!(
                "{{{name}}}: use {{job}}, {{guid}}, {{vm}}, {{worker}}, {{all}} or {{n}}"
            ));
        }
    };
    if change.is_empty() {
        return Ok(Part::Number(field, Change::None));
    }
    let (sign, number) = change.split_at(1);
    match number.parse() {
        Ok(number @ 1..) if sign == "/" => Ok(Part::Number(field, Change::Divide(number))),
        Ok(number @ 1..) => Ok(Part::Number(field, Change::Remainder(number))),
        _ => Err(format!("{{{name}}}: {number} is not a number above 0")),
    }
}

impl Template {
    /// Returns the key of an entity.
    pub(crate) fn render(&self, job: &str, worker: Worker, n: u64) -> String {
        let mut key = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => key.push_str(text),
                Part::Job => key.push_str(job),
                Part::Guid => key.push_str(&guid_of(worker)),
                Part::Number(field, change) => {
                    let number = match field {
                        Field::Vm => worker.vm as u64,
                        Field::Worker => worker.worker as u64,
                        Field::All => worker.all as u64,
                        Field::N => n,
                    };
                    let number = match change {
                        Change::None => number,
                        Change::Divide(by) => number / by,
                        Change::Remainder(by) => number % by,
                    };
                    // As text, numbers of equal length are in their order.
                    let width = if *field == Field::N { 8 } else { 2 };
                    key.push_str(&format!("{number:0width$}"));
                }
            }
        }
        key
    }

    /// Returns how many numbers of entities give all keys, or `None` where there is no last key.
    pub(crate) fn indices(&self) -> Option<u64> {
        let mut indices: u64 = 1;
        for part in &self.parts {
            match part {
                Part::Number(Field::N, Change::Remainder(by)) => indices = indices.max(*by),
                Part::Number(Field::N, _) => return None,
                _ => {}
            }
        }
        Some(indices)
    }
}

/// Returns a GUID of the worker, the same in each process and run.
fn guid_of(worker: Worker) -> String {
    let bits = Rng::with_seed(worker.all as u64).u128(..);
    let (high, low) = ((bits >> 64) as u64, bits as u64);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// The properties of each entity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Columns(Vec<Column>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Column {
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    String(usize),
    Binary(usize),
    Int32,
    Int64,
    Double,
    Boolean,
    DateTime,
    Guid,
}

impl Columns {
    /// Returns one string of so many characters, or as many properties as it needs.
    pub(crate) fn payload(characters: usize) -> Self {
        let starts = (0..characters).step_by(LONGEST);
        let columns = starts.enumerate().map(|(number, start)| Column {
            name: if number == 0 {
                "Payload".to_owned()
            } else {
                format!("Payload{}", number + 1)
            },
            kind: Kind::String(LONGEST.min(characters - start)),
        });
        Self(columns.collect())
    }

    /// Reads `Name:string:20,Rating:int32`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        text.split(',').map(column).collect::<Result<_, _>>().map(Self)
    }

    /// Fills an entity with random values.
    pub(crate) fn fill(&self, entity: &mut DynamicEntity, random: &mut Rng) {
        for column in &self.0 {
            entity.insert(&column.name, column.kind.value(random));
        }
    }
}

fn column(text: &str) -> Result<Column, String> {
    let mut parts = text.trim().split(':');
    let (name, kind, length) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    let length = length.map(str::parse).transpose();
    let length = length.map_err(|_| format!("{text}: the length is not a number"))?;
    let kind = match (kind, length) {
        (Some("string"), Some(length)) => Kind::String(length),
        (Some("binary"), Some(length)) => Kind::Binary(length),
        (Some("int32"), None) => Kind::Int32,
        (Some("int64"), None) => Kind::Int64,
        (Some("double"), None) => Kind::Double,
        (Some("boolean"), None) => Kind::Boolean,
        (Some("datetime"), None) => Kind::DateTime,
        (Some("guid"), None) => Kind::Guid,
        _ => {
            return Err(format!(
                "{text}: use NAME:TYPE, or NAME:string:LENGTH and NAME:binary:LENGTH"
            ));
        }
    };
    Ok(Column {
        name: name.to_owned(),
        kind,
    })
}

impl Kind {
    fn value(self, random: &mut Rng) -> EdmValue {
        match self {
            Self::String(length) => EdmValue::from((0..length).map(|_| random.alphanumeric()).collect::<String>()),
            Self::Binary(length) => EdmValue::from((0..length).map(|_| random.u8(..)).collect::<Vec<u8>>()),
            Self::Int32 => EdmValue::from(random.i32(..)),
            Self::Int64 => EdmValue::from(random.i64(..)),
            Self::Double => EdmValue::from(random.f64()),
            Self::Boolean => EdmValue::from(random.bool()),
            Self::DateTime => EdmValue::from(DateTime::now()),
            Self::Guid => EdmValue::from(Guid::random()),
        }
    }
}
