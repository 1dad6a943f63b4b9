//! Reads Parquet: our own with the types of its metadata, other files by their logical types.

use std::fs::File;
use std::path::PathBuf;

use azure_table::{DateTime, DynamicEntity, EdmValue, Guid};
use indicatif::ProgressBar;
use parquet::basic::{LogicalType, TimeUnit, Type as Physical};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use serde_json::json;

use crate::failure::{Done, Failure, InFile as _, fail};
use crate::rows::key_survey::KeySurvey;
use crate::rows::named_columns::{Name, Use, uses};
use crate::rows::parquet_writer::{FINE, HEADERS, UNIX_EPOCH};
use crate::rows::row_source::{ColumnOptions, RowSource};
use crate::rows::unread::ReadRow;

/// A column of the file.
struct ParquetColumn {
    usage: Use,
    logical: Option<LogicalType>,
    /// `true` if the next column has the digits of times behind the microseconds.
    has_fine: bool,
}

/// A Parquet file that is read.
pub(crate) struct ParquetReader {
    path: PathBuf,
    rows: RowIter<'static>,
    options: ColumnOptions,
    columns: Vec<ParquetColumn>,
    number: u64,
    /// The rows that are read, of all.
    read: ProgressBar,
    warnings: String,
}

impl ParquetReader {
    /// Opens a file. One of another program is read twice: first for rows with equal keys.
    ///
    /// # Errors
    /// The file cannot be read, has other columns than a table can have, or rows with equal keys.
    pub(crate) fn open(path: PathBuf, options: &ColumnOptions, read: &ProgressBar) -> Done<Self> {
        let (mut reader, is_export) = Self::begin(path.clone(), options, read)?;
        if !is_export {
            let mut keys = KeySurvey::new(options)?;
            while let Some(row) = reader.read(1)?.pop() {
                if let Ok(row) = row
                    && !keys.add((&row.partition_key, &row.row_key))
                {
                    let (path, number) = (path.display(), reader.number);
                    let key = (row.partition_key, row.row_key);
                    fail!("{path}: row {number} has the key {key:?} of an earlier row: name others with --keys A,B");
                }
            }
            reader = Self::begin(path, options, read)?.0;
            reader.warnings = keys.warnings();
        }
        Ok(reader)
    }

    /// Opens a file, and says whether this program has written it.
    fn begin(path: PathBuf, options: &ColumnOptions, read: &ProgressBar) -> Done<(Self, bool)> {
        let file = File::open(&path).in_file(&path)?;
        let file = SerializedFileReader::new(file).in_file(&path)?;
        let metadata = file.metadata().file_metadata();
        read.set_length(metadata.num_rows().unsigned_abs());
        let fields = metadata.schema().get_fields();
        let mut pairs = metadata.key_value_metadata().into_iter().flatten();
        let headers = pairs.find(|pair| pair.key == HEADERS);
        let headers = headers.and_then(|pair| pair.value.as_ref());
        let is_export = headers.is_some();
        let headers: Vec<String> = match headers {
            None => fields.iter().map(|field| field.name().to_owned()).collect(),
            Some(json) => serde_json::from_str(json).in_file(&path)?,
        };
        if headers.len() != fields.len() {
            return Err(Failure::of_file(&path, "its metadata is of other columns"));
        }
        let names: Vec<_> = headers.iter().map(|header| Name::of(header)).collect();
        let mut columns: Vec<ParquetColumn> = Vec::with_capacity(fields.len());
        for ((field, usage), header) in fields.iter().zip(uses(&names, options)?).zip(&headers) {
            if let Some(why) = unsupported(field) {
                return Err(Failure::of_file(&path, format!("column {:?}: {why}", field.name())));
            }
            let is_fine = is_export && header.ends_with(FINE);
            if let Some(times) = columns.last_mut() {
                times.has_fine = is_fine;
            }
            columns.push(ParquetColumn {
                usage: if is_fine { Use::Ignored } else { usage },
                logical: field.get_basic_info().logical_type_ref().cloned(),
                has_fine: false,
            });
        }
        let reader = Self {
            path,
            rows: RowIter::from_file_into(Box::new(file)),
            columns,
            options: options.clone(),
            number: 0,
            read: read.clone(),
            warnings: String::new(),
        };
        Ok((reader, is_export))
    }

    fn row(&self, row: Row) -> ReadRow {
        let fields = row.into_columns();
        let read = || {
            let mut entity = DynamicEntity::default();
            for (place, (column, (name, field))) in self.columns.iter().zip(&fields).enumerate() {
                let fine = match fields.get(place + 1) {
                    Some((_, Field::Int(fine))) if column.has_fine => i64::from(*fine),
                    _ => 0,
                };
                let value = column.value(field, fine).map_err(|why| format!("{name}: {why}"))?;
                let key = |value: Option<EdmValue>, absent| self.options.key(name, &value.ok_or(absent)?.to_string());
                match (&column.usage, value) {
                    (Use::PartitionKey, value) => entity.partition_key = key(value, "no PartitionKey")?,
                    (Use::RowKey, value) => entity.row_key = key(value, "no RowKey")?,
                    (Use::Property(name), Some(value)) => {
                        let other = entity.insert(name, value);
                        other.map_or(Ok(()), |_| Err(format!("{name} has two values")))?;
                    }
                    _ => {}
                }
            }
            Ok(entity)
        };
        read().map_err(|why: String| {
            let cells: Vec<_> = fields.iter().map(|(name, field)| format!("{name}: {field}")).collect();
            (
                json!({ "text": cells.join(", ") }),
                format!("row {}, {why}", self.number),
            )
        })
    }
}

impl RowSource for ParquetReader {
    fn read(&mut self, most: usize) -> Done<Vec<ReadRow>> {
        let mut rows = Vec::new();
        while rows.len() < most
            && let Some(row) = self.rows.next()
        {
            self.number += 1;
            self.read.set_position(self.number);
            let row = row.in_file(&self.path)?;
            rows.push(self.row(row));
        }
        Ok(rows)
    }

    fn plan(&self) -> String {
        self.warnings.clone()
    }
}

impl ParquetColumn {
    /// Returns the value of a field; `fine` are the units of 100 ns behind its microseconds.
    fn value(&self, field: &Field, fine: i64) -> Result<Option<EdmValue>, String> {
        let time = |ticks: Option<i64>| {
            let time = ticks.and_then(|ticks| DateTime::from_ticks(ticks.checked_add(UNIX_EPOCH)?));
            time.map(EdmValue::from).ok_or("a time outside of the years 1 to 9999")
        };
        Ok(Some(match (field, &self.logical) {
            (Field::Null, _) => return Ok(None),
            (Field::Long(nanos), Some(LogicalType::Timestamp(stamp))) if stamp.unit == TimeUnit::NANOS => {
                match nanos % 100 {
                    0 => time(Some(nanos / 100))?,
                    _ => return Err("a time finer than 100 ns".into()),
                }
            }
            (Field::Bytes(bytes), Some(LogicalType::Uuid)) => {
                Guid(bytes.data().try_into().map_err(|_| "a UUID of other than 16 bytes")?).into()
            }
            (Field::Bool(value), _) => (*value).into(),
            (Field::Byte(value), _) => i32::from(*value).into(),
            (Field::Short(value), _) => i32::from(*value).into(),
            (Field::UByte(value), _) => i32::from(*value).into(),
            (Field::UShort(value), _) => i32::from(*value).into(),
            (Field::Int(value), _) => (*value).into(),
            (Field::UInt(value), _) => i64::from(*value).into(),
            (Field::Long(value), _) => (*value).into(),
            (Field::ULong(value), _) => i64::try_from(*value).map_err(|error| error.to_string())?.into(),
            (Field::Float(value), _) => f64::from(*value).into(),
            (Field::Double(value), _) => (*value).into(),
            (Field::Str(text), _) => text.clone().into(),
            (Field::Bytes(bytes), _) => bytes.data().to_vec().into(),
            (Field::Date(days), _) => time(i64::from(*days).checked_mul(86_400 * 10_000_000))?,
            (Field::TimestampMillis(millis), _) => time(millis.checked_mul(10_000))?,
            (Field::TimestampMicros(micros), _) => time(micros.checked_mul(10).map(|ticks| ticks + fine))?,
            (other, _) => return Err(format!("{other} has no EDM type")),
        }))
    }
}

/// Returns why a column has no EDM type, if it has none.
fn unsupported(field: &Type) -> Option<&'static str> {
    if field.is_group() || field.get_basic_info().repetition() == parquet::basic::Repetition::REPEATED {
        return Some("a table has no nested values: flatten it");
    }
    match (field.get_physical_type(), field.get_basic_info().logical_type_ref()) {
        // The reader has its milliseconds alone.
        (Physical::INT96, _) => Some("INT96: write timestamps of 64 bits, in Spark as TIMESTAMP_MICROS"),
        (_, Some(LogicalType::Decimal(_) | LogicalType::Time(_) | LogicalType::Float16 | LogicalType::Bson)) => {
            Some("no EDM type has its values: cast it to a text or a double")
        }
        _ => None,
    }
}
