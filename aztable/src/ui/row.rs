//! One row: show it, save it under the ETag that was shown, insert a new one, delete it.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect};
use azure_table::{DynamicEntity, ETag, EdmValue, Error, ErrorKind, TableClient};
use serde::Deserialize;

use crate::failure::with_causes;
use crate::ui::pages::{self, Problem, Property, RowForm, Shown};
use crate::ui::site::{Shared, Site};
use crate::value::{short_name, type_named, value_of};

#[derive(Deserialize)]
pub(super) struct Keys {
    partition: String,
    row: String,
}

/// The fields of the form in their order: keys, ETag, then name, type and value of each property.
type Fields = Vec<(String, String)>;

pub(super) async fn show(State(site): Shared, Path(table): Path<String>, Query(keys): Query<Keys>) -> Shown {
    let client = site.service.dynamic_table(&table)?;
    let Some(row) = client.get((&keys.partition, &keys.row)).await? else {
        let text = format!("no row {:?}", (keys.partition, keys.row));
        return Err(Problem(StatusCode::NOT_FOUND, text));
    };
    Ok(pages::row(&site, &table, &form_of(&row), None).into_response())
}

pub(super) async fn begin(State(site): Shared, Path(table): Path<String>) -> Shown {
    Ok(pages::row(&site, &table, &RowForm::default(), None).into_response())
}

/// Replaces the row that was shown, or inserts a new one.
pub(super) async fn save(State(site): Shared, Path(table): Path<String>, Form(fields): Form<Fields>) -> Shown {
    let typed = typed(fields);
    let client = site.service.dynamic_table(&table)?;
    let stored = match typed.etag.is_empty() {
        true => None,
        false => client.get((&typed.partition, &typed.row)).await?,
    };
    // Another version than the one that was shown is a conflict.
    let shown = stored.filter(|row| row.etag.as_ref().is_some_and(|etag| etag.as_str() == typed.etag));
    let written = match entity(&typed, shown.as_ref()) {
        Ok(row) if row.etag.is_none() => client.insert(&row).await.map(drop),
        Ok(row) => client.replace(&row).await.map(drop),
        Err(text) => Err(Error::invalid_input(text)),
    };
    match written {
        Ok(()) => Ok(Redirect::to(&pages::row_address(&table, &typed.partition, &typed.row)).into_response()),
        Err(error) if error.kind() == ErrorKind::ConditionNotMet => conflict(&site, &client, &table, typed).await,
        Err(error) => {
            let note = with_causes(&error);
            let page = pages::row(&site, &table, &typed, Some(&note));
            Ok((Problem::from(error).0, page).into_response())
        }
    }
}

pub(super) async fn delete(State(site): Shared, Path(table): Path<String>, Form(fields): Form<Fields>) -> Shown {
    let typed = typed(fields);
    let client = site.service.dynamic_table(&table)?;
    let mut row = DynamicEntity::new(&typed.partition, &typed.row);
    row.etag = Some(ETag::new(typed.etag.clone()));
    match client.delete(&row).await {
        Ok(()) => Ok(Redirect::to(&format!("/tables/{table}")).into_response()),
        Err(error) if error.kind() == ErrorKind::ConditionNotMet => conflict(&site, &client, &table, typed).await,
        Err(error) => Err(error.into()),
    }
}

/// Shows both: the row as it is stored now, and the form that was not saved. It saves over the version that it shows.
async fn conflict(site: &Site, client: &TableClient<DynamicEntity>, table: &str, mut typed: RowForm) -> Shown {
    let stored = client.get((&typed.partition, &typed.row)).await?;
    let stored = stored.map(|row| form_of(&row));
    if let Some(stored) = &stored {
        typed.etag.clone_from(&stored.etag);
    }
    let page = pages::conflict(site, table, stored.as_ref(), &typed);
    Ok((StatusCode::PRECONDITION_FAILED, page).into_response())
}

fn form_of(row: &DynamicEntity) -> RowForm {
    let properties = row.properties.iter().map(|(name, value)| Property {
        name: name.clone(),
        edm_type: short_name(value.edm_type()).to_owned(),
        value: value.to_string(),
    });
    RowForm {
        partition: row.partition_key.clone(),
        row: row.row_key.clone(),
        etag: row.etag.as_ref().map(ETag::to_string).unwrap_or_default(),
        timestamp: row.timestamp.map(|timestamp| timestamp.to_string()),
        properties: properties.collect(),
    }
}

/// Reads the fields. A property that is to be removed, or whose name and value are empty, is none.
fn typed(fields: Fields) -> RowForm {
    let mut form = RowForm::default();
    for (field, text) in fields {
        match (field.as_str(), form.properties.last_mut()) {
            ("partition", _) => form.partition = text,
            ("row", _) => form.row = text,
            ("etag", _) => form.etag = text,
            ("name", _) => form.properties.push(Property {
                name: text,
                ..Property::default()
            }),
            ("type", Some(property)) => property.edm_type = text,
            ("value", Some(property)) => property.value = browsed(&text),
            ("remove", Some(property)) => *property = Property::default(),
            _ => {}
        }
    }
    form.properties
        .retain(|property| !property.name.is_empty() || !property.value.is_empty());
    form
}

/// Returns a text as it comes back from a browser, which sends every line break as CR LF and shows no U+0000.
fn browsed(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")
}

/// Returns the row of a form. A text that is as it was shown has its stored line breaks.
fn entity(form: &RowForm, shown: Option<&DynamicEntity>) -> Result<DynamicEntity, String> {
    let mut row = DynamicEntity::new(&form.partition, &form.row);
    row.etag = (!form.etag.is_empty()).then(|| ETag::new(form.etag.clone()));
    for property in &form.properties {
        if property.name.is_empty() {
            return Err(format!("the value {:?} has no name", property.value));
        }
        let value = type_named(&property.edm_type).and_then(|edm_type| {
            let stored = shown.and_then(|row| row.get(&property.name));
            let is_kept =
                |stored: &&EdmValue| stored.edm_type() == edm_type && browsed(&stored.to_string()) == property.value;
            let kept = stored.filter(is_kept).cloned();
            kept.map_or_else(|| value_of(edm_type, &property.value), Ok)
        });
        let value = value.map_err(|failure| format!("{}: {failure}", property.name))?;
        if row.insert(property.name.clone(), value).is_some() {
            return Err(format!("the property {:?} is named twice", property.name));
        }
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(fields: &[(&str, &str)]) -> RowForm {
        typed(
            fields
                .iter()
                .map(|(name, text)| ((*name).into(), (*text).into()))
                .collect(),
        )
    }

    #[test]
    fn text_that_is_not_edited_stays_as_it_is() {
        let mut stored = DynamicEntity::new("p", "r");
        stored.insert("Kept", "a\r\nb\rc\nd\0");
        stored.insert("Edited", "a\r\nb");
        stored.insert("Removed", "x");
        let form = fields(&[
            ("partition", "p"),
            ("row", "r"),
            ("name", "Kept"),
            ("type", "string"),
            ("value", "a\r\nb\r\nc\r\nd\u{fffd}"),
            ("name", "Edited"),
            ("type", "string"),
            ("value", "a\r\nB"),
            ("name", "Removed"),
            ("type", "string"),
            ("value", "x"),
            ("remove", "yes"),
            ("name", ""),
            ("type", "string"),
            ("value", ""),
        ]);
        let row = entity(&form, Some(&stored)).unwrap();
        let texts: Vec<_> = row
            .properties
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_string()))
            .collect();
        assert_eq!(
            texts,
            [("Edited", "a\nB".into()), ("Kept", "a\r\nb\rc\nd\0".to_owned())]
        );
    }

    #[test]
    fn a_value_without_a_name_is_an_error() {
        let form = fields(&[("name", ""), ("type", "string"), ("value", "lost")]);
        assert_eq!(entity(&form, None).unwrap_err(), "the value \"lost\" has no name");
    }
}
