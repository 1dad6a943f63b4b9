//! The files that are imported: their rows, and who has written them in which format.

use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use azure_table::{DynamicEntity, EdmType, EdmValue};
use serde_json::{Value, json};

use crate::paths::with;
use crate::program::Run;
use crate::rows::{self, key};
use crate::script::Script;
use crate::world::{Place, PlaceKind, Tables};

/// The format of a file, and its writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Lines,
    LinesOfAztable,
    Array,
    Response,
    CsvOfAztable,
    CsvOfPython { is_typed: bool },
    ParquetOfAztable,
    ParquetOfPyarrow,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lines => "jsonl",
            Self::LinesOfAztable => "jsonl of aztable",
            Self::Array => "json array",
            Self::Response => "json response",
            Self::CsvOfAztable => "csv of aztable",
            Self::CsvOfPython { .. } => "csv of python",
            Self::ParquetOfAztable => "parquet of aztable",
            Self::ParquetOfPyarrow => "parquet of pyarrow",
        }
    }

    /// Returns the ending of its files, and its name for `--format`.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Lines | Self::LinesOfAztable => "jsonl",
            Self::Array | Self::Response => "json",
            Self::CsvOfAztable | Self::CsvOfPython { .. } => "csv",
            Self::ParquetOfAztable | Self::ParquetOfPyarrow => "parquet",
        }
    }

    pub(crate) fn is_of_aztable(self) -> bool {
        matches!(self, Self::LinesOfAztable | Self::CsvOfAztable | Self::ParquetOfAztable)
    }
}

/// A line of a file.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    Row(DynamicEntity),
    /// It is no row.
    Garbage(String),
}

/// A mistake of a file with columns, for which it must be rejected as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    EqualKeys,
    OneProperty,
}

/// A file with rows.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) format: Format,
    pub(crate) lines: Vec<Line>,
    pub(crate) mistake: Option<Mistake>,
    /// The keys are in the columns `city` and `id`.
    pub(crate) has_named_keys: bool,
    /// The keys are numbers of different lengths.
    pub(crate) has_uneven_keys: bool,
    pub(crate) is_marked: bool,
    pub(crate) is_gzip: bool,
    pub(crate) is_zstandard: bool,
}

impl Source {
    /// A file of a random format with random rows.
    pub(crate) fn random(script: &mut Script<'_>) -> Self {
        let random = &mut script.random;
        let mut format = match random.u8(..20) {
            0..=6 => Format::Lines,
            7 => Format::LinesOfAztable,
            8 | 9 => Format::Array,
            10 | 11 => Format::Response,
            12 => Format::CsvOfAztable,
            13 | 14 => Format::CsvOfPython {
                is_typed: random.bool(),
            },
            15 => Format::CsvOfPython { is_typed: false },
            16 => Format::ParquetOfAztable,
            _ => Format::ParquetOfPyarrow,
        };
        if format == Format::ParquetOfPyarrow && !script.python.has_parquet() {
            format = Format::Lines;
        }
        let mut source = Self {
            format,
            lines: Vec::new(),
            mistake: None,
            has_named_keys: false,
            has_uneven_keys: false,
            is_marked: false,
            is_gzip: false,
            is_zstandard: false,
        };
        match format {
            Format::CsvOfPython { is_typed: false } | Format::ParquetOfPyarrow => source.fill_columns(script),
            _ => source.fill_rows(script),
        }
        if !format.is_of_aztable() && format.ending() != "parquet" {
            source.is_marked = script.random.u8(..4) == 0;
        }
        if format.ending() != "parquet" {
            source.is_gzip = script.random.u8(..8) == 0;
            source.is_zstandard = !source.is_gzip && script.random.u8(..8) == 0;
        }
        script.count("format", format.name());
        for (is_used, kind) in [
            (source.is_marked, "byte order mark"),
            (source.is_gzip, "gz"),
            (source.is_zstandard, "zst"),
        ] {
            if is_used {
                script.count("format", kind);
            }
        }
        source
    }

    /// Rows of all types. Some keys are equal; some rows are rejected by the service, or are no rows.
    fn fill_rows(&mut self, script: &mut Script<'_>) {
        let random = &mut script.random;
        let table = match random.u8(..10) {
            // Several pages: a resumed import has rows on both sides of its position.
            0 => {
                let count = random.usize(1_050..1_600);
                rows::sized(random, count, false)
            }
            _ => rows::table(random, false),
        };
        self.lines = table.values().cloned().map(Line::Row).collect();
        if self.format.is_of_aztable() {
            return;
        }
        // Pages of sorted rows settle one after the other: then a run that is killed has a position.
        if self.lines.len() < 1_000 {
            random.shuffle(&mut self.lines);
        }
        let can_be_garbage = matches!(self.format, Format::Lines | Format::Array);
        for number in 0..random.usize(..3) {
            let place = random.usize(..=self.lines.len());
            let mut row = DynamicEntity::new("p", format!("bad{number}x"));
            match random.u8(..6) {
                0 => row.partition_key = "a/b".into(),
                1 => row.row_key += "#",
                2 => drop(row.insert("Text", "x".repeat(33_000))),
                3 if self.format.ending() != "csv" => drop(row.insert("Te-xt", "x")),
                4 if can_be_garbage => {
                    let text = format!("{{\"PartitionKey\":\"bad{number}\",\"RowKey\":7,\"Num\":{{}}}}");
                    self.lines.insert(place, Line::Garbage(text));
                    continue;
                }
                _ => {
                    // A later row has the key of an earlier one.
                    let Some(Line::Row(earlier)) = random.choice(&self.lines) else {
                        continue;
                    };
                    let mut later = earlier.clone();
                    if random.u8(..3) > 0 {
                        rows::fill(random, &mut later);
                    }
                    self.lines.push(Line::Row(later));
                    continue;
                }
            }
            self.lines.insert(place, Line::Row(row));
        }
    }

    /// Rows as other programs have them: each column has one type, and the keys may be numbers.
    fn fill_columns(&mut self, script: &mut Script<'_>) {
        let random = &mut script.random;
        self.has_named_keys = random.bool();
        self.has_uneven_keys = self.has_named_keys && random.bool();
        let count = random.usize(1..12);
        let width = if self.has_uneven_keys { 1 } else { 3 };
        for number in 0..count {
            let mut row = DynamicEntity::new(*random.choice(&["x", "y"]).unwrap(), format!("{:0width$}", number + 5));
            if random.u8(..4) > 0 {
                row.insert("Num", random.i32(..1_000));
            }
            if random.u8(..4) > 0 {
                row.insert("Name", format!("n{}, \"{number}\"", random.u8(..)));
            }
            if random.bool() {
                row.insert("Ratio", f64::from(random.i32(..1_000)) + 0.5);
            }
            self.lines.push(Line::Row(row));
        }
        // Numbers of one length are of one length in all rows.
        self.has_uneven_keys &= count > 5;
        match random.u8(..6) {
            0 | 1 => {
                let Some(Line::Row(first)) = self.lines.first() else {
                    return;
                };
                let mut other = first.clone();
                other.insert("Num", -1);
                self.lines.push(Line::Row(other));
                self.mistake = Some(Mistake::EqualKeys);
            }
            2 => self.mistake = Some(Mistake::OneProperty),
            _ => {}
        }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &DynamicEntity> {
        self.lines.iter().filter_map(|line| match line {
            Line::Row(row) => Some(row),
            Line::Garbage(_) => None,
        })
    }

    /// Returns the ending of the file.
    pub(crate) fn ending(&self) -> String {
        let compression = if self.is_gzip {
            ".gz"
        } else if self.is_zstandard {
            ".zst"
        } else {
            ""
        };
        format!("{}{compression}", self.format.ending())
    }

    /// Writes the file at a path.
    pub(crate) fn write(&self, script: &Script<'_>, path: &Path) {
        let ending = self.ending();
        if self.format.is_of_aztable() {
            return self.export(script, path, &ending);
        }
        let mut request = json!({ "path": hexadecimal(path), "mark": self.is_marked });
        match self.format {
            Format::Lines if self.lines.len() < 1_000 && self.lines.len().is_multiple_of(2) && !self.has_garbage() => {
                request["do"] = "lines".into();
                request["rows"] = self.rows().map(value_of).collect();
            }
            Format::Lines => {
                let lines = self.lines.iter().map(|line| match line {
                    Line::Row(row) => rows::json(row),
                    Line::Garbage(text) => text.clone(),
                });
                let mut text = if self.is_marked {
                    "\u{feff}".to_owned()
                } else {
                    String::new()
                };
                text += &lines.collect::<Vec<_>>().join("\n");
                fs::write(path, text).unwrap();
                return self.compress(path);
            }
            Format::Array | Format::Response => {
                request["do"] = "json".into();
                request["ascii"] = self.lines.len().is_multiple_of(2).into();
                request["indent"] = if self.lines.len().is_multiple_of(3) {
                    2.into()
                } else {
                    Value::Null
                };
                let array: Value = self
                    .lines
                    .iter()
                    .map(|line| match line {
                        Line::Row(row) => value_of(row),
                        Line::Garbage(text) => serde_json::from_str(text).unwrap(),
                    })
                    .collect();
                request["value"] = match self.format {
                    Format::Array => array,
                    _ => json!({ "odata.metadata": "http://x/$metadata#Rows", "value": array,
                        "odata.nextLink": "Rows?NextPartitionKey=1[{", "odata.count": "7" }),
                };
            }
            Format::CsvOfPython { is_typed: true } => {
                request["do"] = "csv".into();
                self.typed_csv(&mut request);
            }
            _ => self.columns(&mut request),
        }
        script.python.ask(&request).unwrap();
        self.compress(path);
    }

    fn has_garbage(&self) -> bool {
        self.lines.len() > self.rows().count()
    }

    fn compress(&self, path: &Path) {
        let bytes = fs::read(path).unwrap();
        if self.is_gzip {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&bytes).unwrap();
            fs::write(path, encoder.finish().unwrap()).unwrap();
        } else if self.is_zstandard {
            fs::write(path, zstd::encode_all(&*bytes, 1).unwrap()).unwrap();
        }
    }

    /// Lets the program itself write the file, from a folder outside of the script.
    fn export(&self, script: &Script<'_>, path: &Path, ending: &str) {
        let folder = tempfile::tempdir().unwrap();
        let table = self.rows().map(|row| (key(row), row.clone())).collect();
        let tables = Tables::from([("Rows".to_owned(), table)]);
        drop(Place::create(
            folder.path(),
            "tables",
            PlaceKind::Folder,
            1_000,
            &tables,
        ));
        let file = format!("rows.{ending}");
        let mut arguments = vec!["export", "local:tables/Rows", &*file];
        if script.seed.is_multiple_of(2) {
            arguments.push("--system");
        }
        let arguments = arguments.into_iter().map(Into::into).collect();
        let ran = Run {
            arguments,
            ..Run::default()
        }
        .run(folder.path(), &[]);
        assert_eq!(ran.code, 0, "{}", ran.error);
        fs::copy(folder.path().join(file), path).unwrap();
    }

    /// A column for each property and type, named with its type, as the program exports it.
    fn typed_csv(&self, request: &mut Value) {
        let mut columns: Vec<(&str, EdmType)> = Vec::new();
        for row in self.rows() {
            for (name, value) in &row.properties {
                if !columns.contains(&(name, value.edm_type())) {
                    columns.push((name, value.edm_type()));
                }
            }
        }
        let headers = columns.iter().map(|(name, edm_type)| format!("{name}:{edm_type}"));
        let keys = ["PartitionKey", "RowKey"].map(str::to_owned).into_iter();
        let header: Vec<_> = keys.chain(headers).collect();
        let rows = self.rows().map(|row| {
            let cell = |(name, edm_type): &(&str, EdmType)| match row.get(name) {
                Some(value) if value.edm_type() == *edm_type => quotes(&value.to_string()),
                _ => String::new(),
            };
            let mut cells = vec![row.partition_key.clone(), row.row_key.clone()];
            cells.extend(columns.iter().map(cell));
            json!(cells)
        });
        request["rows"] = rows.collect();
        request["header"] = json!(header);
    }

    /// A column for each property, without types.
    fn columns(&self, request: &mut Value) {
        let keys = if self.has_named_keys {
            ["city", "id"]
        } else {
            ["PartitionKey", "RowKey"]
        };
        let mut names = vec![
            ("Num", EdmType::Int32),
            ("Name", EdmType::String),
            ("Ratio", EdmType::Double),
        ];
        if self.mistake == Some(Mistake::OneProperty) {
            names.push(("Na-me", EdmType::String));
        }
        let rows: Vec<_> = self.rows().collect();
        let cell = |row: &DynamicEntity, name: &str| match (name, row.get(name)) {
            ("Na-me", _) => Value::from("other"),
            (_, None) => Value::Null,
            (_, Some(EdmValue::Int32(number))) => (*number).into(),
            (_, Some(EdmValue::Double(number))) => (*number).into(),
            (_, Some(value)) => value.to_string().into(),
        };
        if self.format != Format::ParquetOfPyarrow {
            request["do"] = "csv".into();
            request["end"] = if rows.len().is_multiple_of(2) { "\n" } else { "\r\n" }.into();
            request["header"] = keys.into_iter().chain(names.iter().map(|(name, _)| *name)).collect();
            let row = |row: &&DynamicEntity| {
                let mut cells = vec![json!(row.partition_key), json!(row.row_key)];
                cells.extend(names.iter().map(|(name, _)| cell(row, name)));
                Value::from(cells)
            };
            request["rows"] = rows.iter().map(row).collect();
            return;
        }
        request["do"] = "parquet".into();
        let is_number = self.has_named_keys && rows.iter().all(|row| !row.row_key.starts_with('0'));
        let row_key = |row: &&DynamicEntity| match is_number {
            true => json!(row.row_key.parse::<i32>().unwrap()),
            false => json!(row.row_key),
        };
        let key_type = if is_number { "Edm.Int32" } else { "Edm.String" };
        let mut columns = vec![
            json!({ "name": keys[0], "type": "Edm.String",
                "values": rows.iter().map(|row| json!(row.partition_key)).collect::<Value>() }),
            json!({ "name": keys[1], "type": key_type, "values": rows.iter().map(row_key).collect::<Value>() }),
        ];
        for (name, edm_type) in names {
            let values = rows.iter().map(|row| match cell(row, name) {
                Value::Number(number) if edm_type == EdmType::Double => {
                    let bits = number.as_f64().unwrap().to_bits();
                    format!("{bits:016x}").into()
                }
                value => value,
            });
            columns.push(json!({ "name": name, "type": edm_type.name(), "values": values.collect::<Value>() }));
        }
        request["columns"] = columns.into();
    }
}

/// Returns the cell of a text: one of quotes alone, in pairs, has one pair more.
pub(crate) fn quotes(text: &str) -> String {
    match text.len().is_multiple_of(2) && text.bytes().all(|byte| byte == b'"') {
        true => format!("{text}\"\""),
        false => text.to_owned(),
    }
}

fn value_of(row: &DynamicEntity) -> Value {
    serde_json::from_str(&rows::json(row)).unwrap()
}

pub(crate) fn hexadecimal(path: &Path) -> String {
    path.as_os_str()
        .as_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Writes a file of somebody else: the path with an ending behind it.
pub(crate) fn foreign(path: &Path, ending: &str) {
    fs::write(with(path, ending), "of somebody else\n").unwrap();
}
