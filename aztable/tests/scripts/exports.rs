//! `export`: the rows of a table in a file, and the check of that file.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use azure_table::{DynamicEntity, EdmValue};
use serde_json::{Value, json};

use crate::claims::{Claim, Failures};
use crate::counts::Counts;
use crate::files::{foreign, hexadecimal, quotes};
use crate::options::{Selection, add_output};
use crate::paths::{FilePath, PathKind, output};
use crate::program::{Output, Ran};
use crate::python::Python;
use crate::rows::{self, Table, is_readable, key, same};
use crate::script::Script;
use crate::task::{Expected, Task};
use crate::world::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Lines,
    Csv,
    Parquet,
}

/// The rows that a file must have.
pub(crate) struct Exported {
    /// The file, or the standard output.
    file: Option<PathBuf>,
    /// The bytes that the standard output had before.
    before: Vec<u8>,
    form: Form,
    rows: Table,
    has_system: bool,
}

/// A random export.
pub(crate) fn export(script: &mut Script<'_>, before: &Moment) -> Task {
    let (place, table) = script.source(before);
    let stored = &before.tables[place][&table];
    let selection = Selection::random(&mut script.random, stored, true);
    let names = (script.random.u8(..6) == 0).then_some(["Num", "Any"]);
    let form = match script.random.u8(..8) {
        0 | 1 => Form::Csv,
        2 => Form::Parquet,
        _ => Form::Lines,
    };
    let ending = match (form, script.random.u8(..8)) {
        (Form::Parquet, _) => "parquet",
        (Form::Csv, 0) => "csv.gz",
        (Form::Csv, _) => "csv",
        (Form::Lines, 0) => "jsonl.gz",
        (Form::Lines, 1) => "jsonl.zst",
        (Form::Lines, _) => "jsonl",
    };
    let format = match form {
        Form::Lines => "jsonl",
        Form::Csv => "csv",
        Form::Parquet => "parquet",
    };
    script.count("format", &format!("export {format}"));
    let mut path = FilePath::random(script, ending, !ending.contains('.'));
    let can_stream = form != Form::Parquet && !ending.contains('.');
    if path.kind == PathKind::NamedPipe || can_stream && script.random.u8(..4) == 0 {
        path = FilePath {
            kind: PathKind::Stream,
            argument: "-".into(),
            file: "-".into(),
        };
    }
    if path.kind == PathKind::Device {
        path.argument = "/dev/stdout".into();
    }
    let is_stream = path.kind.is_stream();
    let selected = selection.of(stored).into_values();
    let limited = selected.map(|mut row| {
        if let Some(names) = names {
            row.properties.retain(|name, _| names.contains(&name.as_str()));
        }
        row
    });
    let (readable, unreadable): (Vec<_>, Vec<_>) = limited.partition(is_readable);
    let counts = Counts {
        written: readable.len() as u64,
        rejected: unreadable.len() as u64,
        ..Counts::default()
    };
    let mut expected = Expected::counted(before, counts);
    expected.named = unreadable.iter().map(|row| row.row_key.clone()).collect();
    expected.changes.push(path.file.clone());
    let has_system = names.is_none() && script.random.u8(..5) == 0;
    let overwrites = script.random.u8(..3) == 0;
    let exists = path.kind == PathKind::Link || !is_stream && script.random.u8(..4) == 0;
    let exists = exists && path.kind != PathKind::DanglingLink;
    if exists {
        script.count("path", "existing");
        fs::write(&path.file, "an old file\n").unwrap();
    }
    let stream = if is_stream { output(script) } else { Output::Pipe };
    expected.exported = Some(Exported {
        file: match &stream {
            _ if !is_stream => Some(path.file.clone()),
            Output::File(file) => Some(file.clone()),
            Output::Pipe => None,
        },
        before: if stream == Output::Pipe {
            Vec::new()
        } else {
            b"before\n".to_vec()
        },
        form,
        rows: readable.into_iter().map(|row| (key(&row), row)).collect(),
        has_system,
    });
    if let Output::File(file) = &stream {
        expected.changes.push(file.clone());
    }
    if path.kind == PathKind::DanglingLink {
        expected = Expected::nothing(before, &[1, 2]);
    }
    if exists && !overwrites || is_stream && form == Form::Parquet {
        expected = Expected::nothing(before, &[2]);
    }
    if !is_stream && script.random.u8(..4) == 0 {
        let foreigner = *script
            .random
            .choice(&[".part", ".part", ".position", ".rows.jsonl.zst", ".rows.jsonl.zst"])
            .unwrap();
        script.count("path", &format!("foreign {foreigner}"));
        // Its own files are beside the file behind a link: one beside the link itself does not matter.
        let is_beside_link = path.kind == PathKind::Link && script.random.bool();
        foreign(if is_beside_link { &path.argument } else { &path.file }, foreigner);
        match (foreigner, form) {
            _ if is_beside_link => {}
            (".rows.jsonl.zst", Form::Lines) => {}
            (".position", _) => expected = Expected::nothing(before, &[1, 2]),
            _ if path.kind == PathKind::DanglingLink => {}
            _ => expected = Expected::nothing(before, &[2]),
        }
    }
    let mut task = Task::new("export", expected);
    task.run.output = stream;
    task.words(["export"]);
    script.add_table(&mut task, place, &table);
    task.words([path.argument.clone()]);
    if is_stream {
        task.words(["--format", format]);
    }
    if let Some(names) = names {
        script.count("option", "--select");
        task.words(["--select", &names.join(",")]);
    }
    if has_system {
        script.count("option", "--system");
        task.words(["--system"]);
    }
    if overwrites {
        script.count("option", "--overwrite");
        task.words(["--overwrite"]);
    }
    selection.add_to(&mut task, script);
    add_output(script, &mut task);
    task.places = vec![place];
    task
}

impl Exported {
    /// Checks the file of an export that has ended.
    pub(crate) fn check(&self, ran: &Ran, python: &Python, failures: &mut Failures) {
        let rows = match self.read(ran, python) {
            Ok(rows) => rows,
            Err(why) => return failures.add(Claim::Exported, why),
        };
        let mut left = self.rows.clone();
        for row in rows {
            let Some(expected) = left.remove(&key(&row)) else {
                failures.add(
                    Claim::Exported,
                    format!("the file has a row that the table lacks: {}", rows::json(&row)),
                );
                continue;
            };
            let has_system = self.form != Form::Lines
                || !self.has_system
                || (&row.etag, row.timestamp) == (&expected.etag, expected.timestamp);
            let lacks_system = self.has_system || (row.etag.is_none() && row.timestamp.is_none());
            failures.check(
                same(&row, &expected) && has_system && lacks_system,
                Claim::Exported,
                || format!("the file has {}, the table {}", rows::json(&row), rows::json(&expected)),
            );
        }
        if let Some(row) = left.values().next() {
            failures.add(
                Claim::Exported,
                format!("the file lacks {} rows: {}", left.len(), rows::json(row)),
            );
        }
    }

    fn bytes(&self, ran: &Ran) -> Result<Vec<u8>, String> {
        let bytes = match &self.file {
            None => ran.output.clone(),
            Some(path) => fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?,
        };
        let bytes = bytes
            .strip_prefix(&*self.before)
            .ok_or("the old bytes of the standard output are gone")?;
        let ending = self
            .file
            .as_deref()
            .and_then(Path::extension)
            .and_then(|ending| ending.to_str());
        let mut plain = Vec::new();
        match ending {
            Some("gz") => flate2::read::MultiGzDecoder::new(bytes)
                .read_to_end(&mut plain)
                .map(drop),
            Some("zst") => zstd::decode_all(bytes).map(|bytes| plain = bytes),
            _ => {
                plain = bytes.to_vec();
                Ok(())
            }
        }
        .map_err(|error| format!("it cannot be decompressed: {error}"))?;
        Ok(plain)
    }

    fn read(&self, ran: &Ran, python: &Python) -> Result<Vec<DynamicEntity>, String> {
        match self.form {
            Form::Lines => {
                let bytes = self.bytes(ran)?;
                let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                let parsed = lines.map(serde_json::from_slice::<DynamicEntity>);
                parsed.collect::<Result<_, _>>().map_err(|error| error.to_string())
            }
            Form::Csv => self.read_csv(&self.bytes(ran)?),
            Form::Parquet if !python.has_parquet() => Ok(self.rows.values().map(rows::bare).collect()),
            Form::Parquet => {
                let path = self.file.as_ref().ok_or("no file")?;
                fs::metadata(path).map_err(|error| error.to_string())?;
                self.read_parquet(&python.ask(&json!({ "do": "read parquet", "path": hexadecimal(path) }))?)
            }
        }
    }

    /// Builds the rows of columns. A cell must be that of the expected row: then the row has the expected value.
    fn of_columns(
        &self,
        headers: &[String],
        cells: &[Option<String>],
        text: impl Fn(&EdmValue) -> String,
    ) -> Result<DynamicEntity, String> {
        let cell = |name: &str| {
            let place = headers
                .iter()
                .position(|header| header == name)
                .ok_or(format!("no column {name}"))?;
            cells[place].clone().ok_or(format!("no {name}"))
        };
        let mut row = DynamicEntity::new(cell("PartitionKey")?, cell("RowKey")?);
        let Some(expected) = self.rows.get(&key(&row)) else {
            return Ok(row);
        };
        for (header, cell) in headers.iter().zip(cells) {
            let Some((name, edm_type)) = header.rsplit_once(':') else {
                continue;
            };
            let Some(cell) = cell else { continue };
            let expected = expected.get(name).filter(|value| value.edm_type().name() == edm_type);
            let found = match expected {
                Some(value) if text(value) == *cell => value.clone(),
                _ => EdmValue::String(format!("{edm_type} {cell:?}").into()),
            };
            row.insert(name, found);
        }
        Ok(row)
    }

    fn read_csv(&self, bytes: &[u8]) -> Result<Vec<DynamicEntity>, String> {
        let mut reader = csv::Reader::from_reader(bytes);
        let headers: Vec<_> = reader
            .headers()
            .map_err(|e| e.to_string())?
            .iter()
            .map(str::to_owned)
            .collect();
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| error.to_string())?;
            let cells: Vec<_> = record
                .iter()
                .map(|cell| (!cell.is_empty()).then(|| cell.to_owned()))
                .collect();
            rows.push(self.of_columns(&headers, &cells, |value| quotes(&value.to_string()))?);
        }
        Ok(rows)
    }

    fn read_parquet(&self, file: &Value) -> Result<Vec<DynamicEntity>, String> {
        /// The ticks of 100 ns from the year 1 to 1970.
        const EPOCH: i64 = 621_355_968_000_000_000;
        let text = |value: &EdmValue| match value {
            EdmValue::Double(number) if number.is_nan() => "nan".to_owned(),
            EdmValue::Double(number) => format!("{:016x}", number.to_bits()),
            EdmValue::Binary(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            EdmValue::Guid(guid) => guid.0.iter().map(|byte| format!("{byte:02x}")).collect(),
            EdmValue::DateTime(time) => (time.ticks() - EPOCH).to_string(),
            value => value.to_string(),
        };
        let headers: Vec<String> = serde_json::from_value(file["headers"].clone()).map_err(|e| e.to_string())?;
        let columns: Vec<Vec<Option<String>>> =
            serde_json::from_value(file["columns"].clone()).map_err(|error| error.to_string())?;
        let count = usize::try_from(file["rows"].as_u64().unwrap_or_default()).unwrap();
        let mut rows = Vec::new();
        for index in 0..count {
            let mut cells: Vec<_> = columns.iter().map(|column| column[index].clone()).collect();
            for (place, header) in headers.iter().enumerate() {
                let Some(cell) = cells[place].clone() else { continue };
                let is_nan = || u64::from_str_radix(&cell, 16).is_ok_and(|bits| f64::from_bits(bits).is_nan());
                if header.ends_with(":Edm.DateTime") {
                    let fine = headers.get(place + 1).filter(|next| next.ends_with("@100ns"));
                    let fine = fine.and_then(|_| cells[place + 1].clone()).unwrap_or("0".into());
                    let number = |text: &str| text.parse::<i64>().map_err(|error| format!("{text}: {error}"));
                    cells[place] = Some((number(&cell)? * 10 + number(&fine)?).to_string());
                } else if header.ends_with(":Edm.Double") && is_nan() {
                    cells[place] = Some("nan".into());
                }
            }
            rows.push(self.of_columns(&headers, &cells, text)?);
        }
        Ok(rows)
    }
}
