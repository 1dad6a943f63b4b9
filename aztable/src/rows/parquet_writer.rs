//! Writes Parquet: each EDM type as the type that DuckDB, pandas and Spark read.
//!
//! A time is a timestamp in microseconds, UTC: nanoseconds would not hold the years 1601 to 9999. If times of a column
//! have digits behind that, a column `Name@100ns` has them, 0 to 9. The metadata `aztable.columns` has the headers that
//! a CSV file would have. Rows wait in memory by column until they fill a row group.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use azure_table::{DynamicEntity, EdmType, EdmValue};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::rows::columns::{Column, values};

/// The memory of the rows that wait.
const ROW_GROUP: usize = 32 << 20;
/// The ticks of 100 ns from the year 1, where those of `DateTime` begin, to 1970.
pub(crate) const UNIX_EPOCH: i64 = 621_355_968_000_000_000;
/// The metadata with the header of each column.
pub(crate) const HEADERS: &str = "aztable.columns";
/// The ending of a column with the digits of times behind the microseconds.
pub(crate) const FINE: &str = "@100ns";

/// The values of a column that wait for the end of their row group.
#[derive(Clone, Default)]
struct Chunk {
    /// Numbers, bits of doubles, or the lengths of values in `bytes`.
    numbers: Vec<i64>,
    bytes: Vec<u8>,
    /// For each row, whether it has a value.
    levels: Vec<i16>,
}

/// A Parquet file that is written.
pub(crate) struct ParquetWriter {
    file: SerializedFileWriter<File>,
    columns: Vec<Column>,
    /// The values of each column, and behind those of some columns the digits of times behind the microseconds.
    chunks: Vec<Chunk>,
    waiting: usize,
}

impl ParquetWriter {
    /// Begins a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn new(file: File, columns: Vec<Column>) -> Result<Self> {
        let mut counts = HashMap::new();
        for column in &columns {
            *counts.entry(column.name.as_str()).or_insert(0) += 1;
        }
        let (mut fields, mut headers) = (Vec::new(), Vec::new());
        for column in &columns {
            // A property of two types has two columns.
            let is_alone = counts.get(column.name.as_str()) == Some(&1);
            let name = if is_alone { column.name.clone() } else { column.header() };
            fields.push(field(&name, column.edm_type)?);
            headers.push(column.header());
            if column.has_fine_times {
                fields.push(field(&format!("{name}{FINE}"), EdmType::Int32)?);
                headers.push(format!("{}{FINE}", column.name));
            }
        }
        let chunks = vec![Chunk::default(); fields.len()];
        let schema = Type::group_type_builder("row").with_fields(fields).build()?;
        // The metadata of all row groups is in memory until the end: without pages it is small.
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let mut file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        let headers = serde_json::to_string(&headers).map_err(|error| ParquetError::External(error.into()))?;
        file.append_key_value_metadata(KeyValue::new(HEADERS.to_owned(), headers));
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
        let mut add = |value: Option<&EdmValue>| self.waiting += chunks.next().map_or(0, |chunk| chunk.add(value));
        for (column, value) in values(&self.columns, row) {
            add(value.as_deref());
            if column.has_fine_times {
                match value.as_deref() {
                    Some(EdmValue::DateTime(time)) => add(Some(&EdmValue::Int32((time.ticks() % 10) as i32))),
                    _ => add(None),
                }
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
        if self.waiting > 0 {
            self.write()?;
        }
        self.file.into_inner()
    }

    /// Writes the rows that wait as a row group.
    fn write(&mut self) -> Result<()> {
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
    /// Adds the value of a row. Returns its memory.
    fn add(&mut self, value: Option<&EdmValue>) -> usize {
        self.levels.push(value.is_some().into());
        let Some(value) = value else { return size_of::<i16>() };
        let before = self.bytes.len();
        let number = match value {
            EdmValue::Boolean(value) => (*value).into(),
            EdmValue::Int32(value) => (*value).into(),
            EdmValue::Int64(value) => *value,
            EdmValue::Double(value) => value.to_bits().cast_signed(),
            EdmValue::DateTime(time) => (time.ticks() - UNIX_EPOCH).div_euclid(10),
            EdmValue::String(text) => self.add_bytes(text.as_bytes()),
            EdmValue::Guid(guid) => self.add_bytes(&guid.0),
            EdmValue::Binary(bytes) => self.add_bytes(bytes),
        };
        self.numbers.push(number);
        self.bytes.len() - before + size_of::<i64>() + size_of::<i16>()
    }

    fn add_bytes(&mut self, bytes: &[u8]) -> i64 {
        self.bytes.extend_from_slice(bytes);
        bytes.len() as i64
    }

    /// Writes the values, and forgets them.
    fn write(&mut self, mut column: SerializedColumnWriter<'_>) -> Result<()> {
        let all = ByteArray::from(std::mem::take(&mut self.bytes));
        let mut start = 0;
        let slice = |length: i64| {
            start += length as usize;
            all.slice(start - length as usize, length as usize)
        };
        let (numbers, levels) = (self.numbers.drain(..), &self.levels);
        let double = |number: i64| f64::from_bits(number.cast_unsigned());
        match column.untyped() {
            ColumnWriter::BoolColumnWriter(column) => write(column, numbers.map(|number| number != 0), levels),
            ColumnWriter::Int32ColumnWriter(column) => write(column, numbers.map(|number| number as i32), levels),
            ColumnWriter::Int64ColumnWriter(column) => write(column, numbers, levels),
            ColumnWriter::DoubleColumnWriter(column) => write(column, numbers.map(double), levels),
            ColumnWriter::ByteArrayColumnWriter(column) => write(column, numbers.map(slice), levels),
            ColumnWriter::FixedLenByteArrayColumnWriter(column) => {
                write(column, numbers.map(slice).map(Into::into), levels)
            }
            // No EDM type is written as these.
            ColumnWriter::Int96ColumnWriter(_) | ColumnWriter::FloatColumnWriter(_) => Ok(0),
        }?;
        self.levels.clear();
        column.close()
    }
}

fn write<T: DataType>(
    column: &mut ColumnWriterImpl<'_, T>,
    values: impl Iterator<Item = T::T>,
    levels: &[i16],
) -> Result<usize> {
    column.write_batch(&values.collect::<Vec<_>>(), Some(levels), None)
}

/// Returns the field of a column: its physical type, and what it means.
fn field(name: &str, edm_type: EdmType) -> Result<TypePtr> {
    let (physical, logical) = match edm_type {
        EdmType::String => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        EdmType::Boolean => (Physical::BOOLEAN, None),
        EdmType::Int32 => (Physical::INT32, None),
        EdmType::Int64 => (Physical::INT64, None),
        EdmType::Double => (Physical::DOUBLE, None),
        EdmType::DateTime => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        EdmType::Guid => (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid)),
        EdmType::Binary => (Physical::BYTE_ARRAY, None),
    };
    let length = if edm_type == EdmType::Guid { 16 } else { -1 };
    let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
    let field = field.with_repetition(Repetition::OPTIONAL).with_length(length);
    Ok(Arc::new(field.build()?))
}
