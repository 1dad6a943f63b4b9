//! Writes Parquet: each EDM type as the type that DuckDB, pandas and Spark read.
//!
//! A time is a timestamp in microseconds, UTC: nanoseconds would not hold the years 1601 to 9999. If times of a column
//! have digits behind that, a column `Name@100ns` has them, 0 to 9. The metadata `aztable.columns` has the property and
//! the EDM type of each column. Rows wait in memory by column until they fill a row group.

use std::fs::File;
use std::sync::Arc;

use azure_table::{DynamicEntity, EdmType, EdmValue};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde::{Deserialize, Serialize};

use crate::rows::columns::Column;

/// The memory of the rows that wait.
const ROW_GROUP: usize = 32 << 20;
/// The ticks of 100 ns from the year 1, where those of `DateTime` begin, to 1970.
pub(crate) const UNIX_EPOCH: i64 = 621_355_968_000_000_000;
/// The metadata with the columns.
pub(crate) const METADATA: &str = "aztable.columns";
/// The ending of a column with the digits of times behind the microseconds.
const FINE: &str = "@100ns";

/// A column in the metadata of a file.
#[derive(Serialize, Deserialize)]
pub(crate) struct Described {
    pub(crate) column: String,
    pub(crate) property: String,
    /// The EDM type of a property.
    pub(crate) edm_type: Option<String>,
    /// The column with the digits behind the microseconds.
    pub(crate) fine: Option<String>,
}

/// The values of a column that wait for the end of their row group.
enum Values {
    Boolean(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Double(Vec<f64>),
    Bytes {
        bytes: Vec<u8>,
        ends: Vec<usize>,
        is_fixed: bool,
    },
}

/// A column of the file: the values that are present, and for each row whether it has one.
struct Chunk {
    values: Values,
    levels: Vec<i16>,
}

/// A Parquet file that is written.
pub(crate) struct ParquetWriter {
    file: SerializedFileWriter<File>,
    columns: Vec<Column>,
    chunks: Vec<Chunk>,
    waiting: usize,
}

impl ParquetWriter {
    /// Begins a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn new(file: File, columns: Vec<Column>) -> Result<Self> {
        let (mut fields, mut chunks, mut described) = (Vec::new(), Vec::new(), Vec::new());
        for column in &columns {
            let is_alone = columns.iter().filter(|other| other.name == column.name).count() == 1;
            let name = if is_alone { column.name.clone() } else { column.header() };
            let fine = column.has_fine_times.then(|| format!("{name}{FINE}"));
            let (physical, logical) = types(column.edm_type);
            let field = Type::primitive_type_builder(&name, physical).with_logical_type(logical);
            let length = if physical == Physical::FIXED_LEN_BYTE_ARRAY {
                16
            } else {
                -1
            };
            let field = field
                .with_repetition(Repetition::OPTIONAL)
                .with_length(length)
                .build()?;
            fields.push(Arc::new(field));
            chunks.push(Chunk::new(column.edm_type));
            if let Some(fine) = &fine {
                let field = Type::primitive_type_builder(fine, Physical::INT32);
                fields.push(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?));
                chunks.push(Chunk::new(EdmType::Int32));
            }
            described.push(Described {
                column: name,
                property: column.name.clone(),
                edm_type: (!column.is_system).then(|| column.edm_type.to_string()),
                fine,
            });
        }
        let schema = Type::group_type_builder("row").with_fields(fields).build()?;
        // The metadata of all row groups is in memory until the end: without pages it is small.
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let mut file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        let described = serde_json::to_string(&described).map_err(|error| error.to_string());
        let metadata = described.map_err(parquet::errors::ParquetError::General)?;
        file.append_key_value_metadata(KeyValue::new(METADATA.to_owned(), metadata));
        Ok(Self {
            file,
            columns,
            chunks,
            waiting: 0,
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn add(&mut self, row: &DynamicEntity) -> Result<()> {
        let mut chunks = self.chunks.iter_mut();
        for column in &self.columns {
            let value = column.value(row);
            let fine = match value.as_deref() {
                Some(EdmValue::DateTime(time)) => Some(time.ticks() % 10),
                _ => None,
            };
            if let Some(chunk) = chunks.next() {
                self.waiting += chunk.add(value.as_deref());
            }
            if column.has_fine_times
                && let Some(chunk) = chunks.next()
            {
                let fine = fine.map(|fine| EdmValue::Int32(fine as i32));
                self.waiting += chunk.add(fine.as_ref());
            }
        }
        match self.waiting >= ROW_GROUP {
            true => self.write(),
            false => Ok(()),
        }
    }

    /// Writes the rest, and returns the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn end(mut self) -> Result<File> {
        self.write()?;
        self.file.into_inner()
    }

    /// Writes the rows that wait as a row group.
    fn write(&mut self) -> Result<()> {
        if self.waiting == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for chunk in &mut self.chunks {
            if let Some(column) = group.next_column()? {
                chunk.write(column)?;
            }
        }
        group.close()?;
        self.waiting = 0;
        Ok(())
    }
}

impl Chunk {
    fn new(edm_type: EdmType) -> Self {
        let values = match types(edm_type).0 {
            Physical::BOOLEAN => Values::Boolean(Vec::new()),
            Physical::INT32 => Values::Int32(Vec::new()),
            Physical::INT64 => Values::Int64(Vec::new()),
            Physical::DOUBLE => Values::Double(Vec::new()),
            physical => Values::Bytes {
                bytes: Vec::new(),
                ends: Vec::new(),
                is_fixed: physical == Physical::FIXED_LEN_BYTE_ARRAY,
            },
        };
        let levels = Vec::new();
        Self { values, levels }
    }

    /// Adds the value of a row. Returns its memory.
    fn add(&mut self, value: Option<&EdmValue>) -> usize {
        self.levels.push(i16::from(value.is_some()));
        let size = match (&mut self.values, value) {
            (_, None) => 0,
            (Values::Boolean(values), Some(EdmValue::Boolean(value))) => add(values, *value),
            (Values::Int32(values), Some(EdmValue::Int32(value))) => add(values, *value),
            (Values::Int64(values), Some(EdmValue::Int64(value))) => add(values, *value),
            (Values::Int64(values), Some(EdmValue::DateTime(time))) => {
                add(values, (time.ticks() - UNIX_EPOCH).div_euclid(10))
            }
            (Values::Double(values), Some(EdmValue::Double(value))) => add(values, *value),
            (Values::Bytes { bytes, ends, .. }, Some(value)) => {
                match value {
                    EdmValue::String(text) => bytes.extend_from_slice(text.as_bytes()),
                    EdmValue::Binary(value) => bytes.extend_from_slice(value),
                    EdmValue::Guid(guid) => bytes.extend_from_slice(&guid.0),
                    _ => {}
                }
                let before = ends.last().copied().unwrap_or_default();
                bytes.len() - before + add(ends, bytes.len())
            }
            // `Column::value` returns values of the column's type.
            (_, Some(_)) => 0,
        };
        size + size_of::<i16>()
    }

    /// Writes the values, and forgets them.
    fn write(&mut self, mut column: SerializedColumnWriter<'_>) -> Result<()> {
        let levels = &self.levels;
        match &mut self.values {
            Values::Boolean(values) => write::<BoolType>(&mut column, values, levels)?,
            Values::Int32(values) => write::<Int32Type>(&mut column, values, levels)?,
            Values::Int64(values) => write::<Int64Type>(&mut column, values, levels)?,
            Values::Double(values) => write::<DoubleType>(&mut column, values, levels)?,
            Values::Bytes { bytes, ends, is_fixed } => {
                let all = ByteArray::from(std::mem::take(bytes));
                let starts = std::iter::once(0).chain(ends.iter().copied());
                let slices = starts.zip(&*ends).map(|(start, end)| all.slice(start, end - start));
                match is_fixed {
                    false => write::<ByteArrayType>(&mut column, &mut slices.collect(), levels)?,
                    true => {
                        let mut slices = slices.map(Into::into).collect();
                        write::<FixedLenByteArrayType>(&mut column, &mut slices, levels)?;
                    }
                }
                ends.clear();
            }
        }
        self.levels.clear();
        column.close()
    }
}

/// Adds a value, and returns its memory.
fn add<T>(values: &mut Vec<T>, value: T) -> usize {
    values.push(value);
    size_of::<T>()
}

fn write<T: DataType>(column: &mut SerializedColumnWriter<'_>, values: &mut Vec<T::T>, levels: &[i16]) -> Result<()> {
    column.typed::<T>().write_batch(values, Some(levels), None)?;
    values.clear();
    Ok(())
}

/// Returns the physical type of a column, and what it means.
fn types(edm_type: EdmType) -> (Physical, Option<LogicalType>) {
    match edm_type {
        EdmType::String => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        EdmType::Boolean => (Physical::BOOLEAN, None),
        EdmType::Int32 => (Physical::INT32, None),
        EdmType::Int64 => (Physical::INT64, None),
        EdmType::Double => (Physical::DOUBLE, None),
        EdmType::DateTime => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        EdmType::Guid => (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid)),
        _ => (Physical::BYTE_ARRAY, None),
    }
}
