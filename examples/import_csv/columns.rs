//! The columns of the file: their names and types, and the values of a row.

use std::collections::HashMap;
use std::path::Path;

use azure_table::{DynamicEntity, EdmType, EdmValue};
use azure_table_examples::Done;
use csv::{Reader, StringRecord};

/// The types that are guessed, the narrowest first. Text is what is left.
const GUESSED: [&str; 6] = [
    "Edm.Int32",
    "Edm.Int64",
    "Edm.Double",
    "Edm.Boolean",
    "Edm.DateTime",
    "Edm.Guid",
];

/// A column of the file.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) header: String,
    /// The header without the characters that no property name may have.
    pub(crate) property: String,
    pub(crate) edm_type: &'static str,
    pub(crate) values: u64,
}

/// Reads the file once for the narrowest type that all values of a column have.
pub(crate) fn guess(path: &Path, named: &[(&str, &str)]) -> Done<(Vec<Column>, u64)> {
    let mut reader = Reader::from_path(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let headers = reader.headers()?.clone();
    let mut fitting = vec![GUESSED.to_vec(); headers.len()];
    let mut values = vec![0; headers.len()];
    let mut rows = 0;
    let mut record = StringRecord::new();
    while reader.read_record(&mut record)? {
        rows += 1;
        for (column, text) in record.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            values[column] += 1;
            fitting[column].retain(|edm_type| parse(text, edm_type).is_some_and(|value| is_same(&value, text)));
        }
    }
    let column = |(index, header): (usize, &str)| {
        let by_name = named.iter().find(|(name, _)| *name == header);
        let edm_type = match by_name {
            Some((_, name)) => EdmType::from_name(name)
                .ok_or_else(|| format!("{header}: no type {name:?}"))?
                .name(),
            None if values[index] == 0 => "Edm.String",
            None => fitting[index].first().copied().unwrap_or("Edm.String"),
        };
        let property = header.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
        Ok(Column {
            header: header.into(),
            property,
            edm_type,
            values: values[index],
        })
    };
    let columns = headers.iter().enumerate().map(column).collect::<Done<Vec<Column>>>()?;
    let mut properties = HashMap::new();
    for column in &columns {
        if let Some(other) = properties.insert(&column.property, &column.header) {
            return Err(format!("the columns {other:?} and {:?} become one property", column.header).into());
        }
    }
    Ok((columns, rows))
}

/// Returns whether a value is written like the text. A guess may not change what the file says: 0010, +49, 1.10 and a
/// number of 20 digits stay text, unless the user names a type.
fn is_same(value: &EdmValue, text: &str) -> bool {
    match value {
        // A column of prices may have 177 beside 454.1.
        EdmValue::Double(number) if number.to_string() == text => true,
        _ => value.to_string() == text,
    }
}

/// Returns a text as a value of a type, if it is one.
fn parse(text: &str, edm_type: &str) -> Option<EdmValue> {
    match edm_type {
        "Edm.Int32" => text.parse().ok().map(EdmValue::Int32),
        "Edm.Int64" => text.parse().ok().map(EdmValue::Int64),
        "Edm.Double" => text
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .map(EdmValue::Double),
        "Edm.Boolean" => text.parse().ok().map(EdmValue::Boolean),
        "Edm.DateTime" => text.parse().ok().map(EdmValue::DateTime),
        "Edm.Guid" => text.parse().ok().map(EdmValue::Guid),
        "Edm.String" => Some(text.into()),
        _ => None,
    }
}

/// Returns the columns of PartitionKey and RowKey: those that are named, or the first two.
pub(crate) fn key_columns(columns: &[Column], names: &[String]) -> Done<(usize, usize)> {
    let place = |name: &String| columns.iter().position(|column| column.header == *name);
    match names {
        [] if columns.len() >= 2 => Ok((0, 1)),
        [partition, row] => {
            let found = place(partition).zip(place(row));
            Ok(found.ok_or_else(|| format!("no columns {partition:?} and {row:?}"))?)
        }
        _ => Err("the keys are two columns: --keys A,B".into()),
    }
}

/// Checks that no two rows have the same key, of which the later would replace the earlier. It holds all keys.
pub(crate) fn check_keys(path: &Path, (partition, row): (usize, usize)) -> Done<()> {
    let mut lines = HashMap::new();
    for record in Reader::from_path(path)?.records() {
        let record = record?;
        let line = record.position().map_or(0, csv::Position::line);
        let key = (record[partition].to_owned(), record[row].to_owned());
        if let Some(earlier) = lines.insert(key, line) {
            return Err(format!("line {line} has the key of line {earlier}: name other columns with --keys").into());
        }
    }
    Ok(())
}

/// Returns a row of the file as an entity. Empty cells are absent properties.
pub(crate) fn entity(
    record: &StringRecord,
    columns: &[Column],
    (partition, row): (usize, usize),
) -> Done<DynamicEntity> {
    let mut entity = DynamicEntity::new(&record[partition], &record[row]);
    for (index, column) in columns.iter().enumerate() {
        if index == partition || index == row || record[index].is_empty() {
            continue;
        }
        let value = parse(&record[index], column.edm_type);
        let line = record.position().map_or(0, csv::Position::line);
        let value = value.ok_or_else(|| format!("line {line}, {}: no {}", column.header, column.edm_type))?;
        entity.insert(&column.property, value);
    }
    Ok(entity)
}
