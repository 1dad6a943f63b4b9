//! One row: show it, save it under the ETag that was shown, insert a new one, delete it.

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use azure_table::{DynamicEntity, ETag, Error, ErrorKind, TableClient};
use serde::Deserialize;

use crate::failure::with_causes;
use crate::ui::pages::{self, Property, RowForm};
use crate::ui::problem::{Problem, Shown};
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
    let row = site
        .service
        .dynamic_table(&table)?
        .get((&keys.partition, &keys.row))
        .await?;
    let Some(row) = row else {
        let text = format!("no row ({:?}, {:?})", keys.partition, keys.row);
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
    let written = match entity(&typed) {
        Ok(row) if row.etag.is_none() => client.insert(&row).await.map(drop),
        Ok(row) => client.replace(&row).await.map(drop),
        Err(text) => Err(Error::invalid_input(text)),
    };
    match written {
        Ok(()) => Ok(to_row(&table, &typed)),
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
    let stored = client
        .get((&typed.partition, &typed.row))
        .await?
        .map(|row| form_of(&row));
    if let Some(stored) = &stored {
        typed.etag.clone_from(&stored.etag);
    }
    let page = pages::conflict(site, table, stored.as_ref(), &typed);
    Ok((StatusCode::PRECONDITION_FAILED, page).into_response())
}

fn to_row(table: &str, typed: &RowForm) -> Response {
    Redirect::to(&pages::row_address(table, &typed.partition, &typed.row)).into_response()
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
        etag: row
            .etag
            .as_ref()
            .map(|etag| etag.as_str().to_owned())
            .unwrap_or_default(),
        timestamp: row.timestamp.map(|timestamp| timestamp.to_string()),
        properties: properties.collect(),
    }
}

/// Reads the fields. A property whose name is empty, or that is to be removed, is none.
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
            // Browsers send line breaks as CR LF.
            ("value", Some(property)) => property.value = text.replace("\r\n", "\n"),
            ("remove", Some(property)) => property.name.clear(),
            _ => {}
        }
    }
    form.properties.retain(|property| !property.name.is_empty());
    form
}

/// Returns the row of a form.
fn entity(form: &RowForm) -> Result<DynamicEntity, String> {
    let mut row = DynamicEntity::new(&form.partition, &form.row);
    row.etag = (!form.etag.is_empty()).then(|| ETag::new(form.etag.clone()));
    for property in &form.properties {
        let value = type_named(&property.edm_type).and_then(|edm_type| value_of(edm_type, &property.value));
        let value = value.map_err(|failure| format!("{}: {failure}", property.name))?;
        if row.insert(property.name.clone(), value).is_some() {
            return Err(format!("the property {:?} is named twice", property.name));
        }
    }
    Ok(row)
}
