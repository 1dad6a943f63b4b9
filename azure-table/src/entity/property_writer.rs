//! Writes the properties of an entity, and checks the service's limits.
//!
//! Defines [`PropertyWriter`] and the limits on names, values, number and size. `codec/json/write.rs` encodes the
//! values.

use std::borrow::Cow;
use std::fmt;

use azure_table_wire::codec::json::write::Object;
use azure_table_wire::error::{Error, Result, ValueError};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::Edm;
use azure_table_wire::value::entity_size;
use azure_table_wire::value::guid::Guid;
use azure_table_wire::value::name::property_name_fault;
use azure_table_wire::value::ordinal::utf16_len;

use crate::entity::property::Property;
use crate::entity::table_entity::PropertyGroup;

/// The maximum length of an Edm.String, in UTF-16 code units (64 KiB).
pub const MAX_STRING_UNITS: usize = 32_768;
/// The maximum length of an Edm.Binary, in bytes (64 KiB).
pub const MAX_BINARY_BYTES: usize = 65_536;
/// The maximum number of properties of an entity, besides PartitionKey, RowKey and Timestamp.
pub const MAX_PROPERTIES: usize = 252;
/// The maximum size of an entity by the published formula, in bytes (1 MiB).
pub const MAX_ENTITY_BYTES: usize = 1 << 20;

/// The destination of checked properties.
pub(crate) enum Destination<'a> {
    /// The body of a request.
    Json(&'a mut Object),
    Values(&'a mut dyn PropertySink),
}

/// The values of an entity that are not encoded.
pub(crate) trait PropertySink {
    fn put(&mut self, name: &str, value: &Edm<'_>);
}

/// The number of characters around the name in `"Name":`.
const MEMBER_MARKS: usize = 3;

/// Returns the name in `"Name":`.
fn name_of(member: &str) -> &str {
    member.get(1..member.len().saturating_sub(2)).unwrap_or_default()
}

/// Collects the properties of an entity, and checks each name and value, their number, and the size of the entity.
///
/// Limits: [`MAX_STRING_UNITS`], [`MAX_BINARY_BYTES`], [`MAX_PROPERTIES`], [`MAX_ENTITY_BYTES`] (estimated by the
/// published formula), dates from [`DateTime::MIN_STORED`] on.
///
/// Cosmos DB accepts longer values and larger entities, so sizes are checked later, once the service is known: when a
/// batch accepts the operation, or a call sends it.
///
/// Source: REST "Understanding the Table service data model"; "How the size of an entity is calculated" (2011).
pub struct PropertyWriter<'a> {
    destination: Destination<'a>,
    /// The prefix of the names inside a flattened field.
    prefix: String,
    count: usize,
    size: usize,
    /// Boxed, because few entities need it and the writer is moved for each of them.
    rare: Option<Box<Rare>>,
    /// The property that distinguishes the variants, once it is written.
    tag: Option<&'static str>,
}

impl fmt::Debug for PropertyWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PropertyWriter")
            .field("count", &self.count)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl<'a> PropertyWriter<'a> {
    /// Writes a property. An absent value is left out.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the name is not allowed, the value is out of
    ///   the service's range or over its limit, or the service cannot represent it.
    #[inline]
    pub fn property<T: Property + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        self.converted(name, value.to_edm())
    }

    /// Writes a property whose name was checked at compile time.
    ///
    /// The name is ASCII and not one of the service's own. The caller passes it as the start of a JSON member,
    /// `"Name":`.
    #[doc(hidden)]
    #[inline]
    pub fn named<T: Property + ?Sized>(&mut self, member: &'static str, value: &T) -> Result<()> {
        // Once `to_edm` is inlined, a single arm is left per type, and no EDM value is built just to be matched.
        match value.to_edm() {
            Ok(None) => Ok(()),
            Ok(Some(Edm::String(text))) => self.text(member, &text),
            Ok(Some(Edm::Int32(value))) => self.int32(member, value),
            Ok(Some(Edm::Int64(value))) => self.int64(member, value),
            Ok(Some(Edm::Double(value))) => self.double(member, value),
            Ok(Some(Edm::Boolean(value))) => self.boolean(member, value),
            Ok(Some(Edm::DateTime(value))) => self.date_time(member, value),
            Ok(Some(Edm::Guid(value))) => self.guid(member, value),
            Ok(Some(Edm::Binary(bytes))) => self.binary(member, &bytes),
            Err(e) => Err(invalid(&self.whole(name_of(member)), e)),
        }
    }

    fn text(&mut self, member: &'static str, text: &str) -> Result<()> {
        self.member(member, &Edm::String(Cow::Borrowed(text)))
    }

    fn int32(&mut self, member: &'static str, value: i32) -> Result<()> {
        self.member(member, &Edm::Int32(value))
    }

    fn int64(&mut self, member: &'static str, value: i64) -> Result<()> {
        self.member(member, &Edm::Int64(value))
    }

    fn double(&mut self, member: &'static str, value: f64) -> Result<()> {
        self.member(member, &Edm::Double(value))
    }

    fn boolean(&mut self, member: &'static str, value: bool) -> Result<()> {
        self.member(member, &Edm::Boolean(value))
    }

    fn date_time(&mut self, member: &'static str, value: DateTime) -> Result<()> {
        self.member(member, &Edm::DateTime(value))
    }

    fn guid(&mut self, member: &'static str, value: Guid) -> Result<()> {
        self.member(member, &Edm::Guid(value))
    }

    fn binary(&mut self, member: &'static str, bytes: &[u8]) -> Result<()> {
        self.member(member, &Edm::Binary(Cow::Borrowed(bytes)))
    }

    /// Writes a property whose name is the start of a JSON member. Inlined, because its callers know the value's type.
    #[inline(always)]
    fn member(&mut self, member: &'static str, value: &Edm<'_>) -> Result<()> {
        if !self.prefix.is_empty() || !matches!(self.destination, Destination::Json(_)) {
            return self.value(name_of(member), value);
        }
        self.count(|| name_of(member), member.len().saturating_sub(MEMBER_MARKS), value)?;
        if let Destination::Json(object) = &mut self.destination {
            object.property_member(member, value);
        }
        Ok(())
    }

    /// Writes the result of a conversion. An absent value is left out.
    ///
    /// # Errors
    /// The errors of [`property`](Self::property).
    #[inline]
    pub fn converted(&mut self, name: &str, value: Result<Option<Edm<'_>>, ValueError>) -> Result<()> {
        // Matched by reference, since it is slow to move a value that was just written.
        match &value {
            Ok(None) => Ok(()),
            Ok(Some(value)) => self.value(name, value),
            Err(e) => Err(invalid(&self.whole(name), e)),
        }
    }

    /// Writes the properties of a flattened field, with `prefix` before their names.
    ///
    /// # Errors
    /// The errors of [`property`](Self::property).
    pub fn group<G: PropertyGroup + ?Sized>(&mut self, prefix: &str, group: &G) -> Result<()> {
        let outer = self.prefix.len();
        self.prefix.push_str(prefix);
        let written = group.write_group(self);
        self.prefix.truncate(outer);
        written
    }

    /// Writes a unique id by which the client recognizes its own write after a lost response.
    ///
    /// # Errors
    /// The errors of [`property`](Self::property).
    pub fn write_id(&mut self, name: &str) -> Result<()> {
        let id = Guid::random();
        self.rare().write_id = Some(id);
        self.value(name, &Edm::Guid(id))
    }

    /// Writes the property that distinguishes the variants of an enum. The entity itself has no property of this name.
    ///
    /// # Errors
    /// The errors of [`property`](Self::property).
    pub fn tag(&mut self, name: &'static str, tag: &str) -> Result<()> {
        self.property(name, tag)?;
        self.tag = Some(name);
        Ok(())
    }

    fn whole<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.prefix.is_empty() {
            Cow::Borrowed(name)
        } else {
            Cow::Owned(format!("{}{name}", self.prefix))
        }
    }

    /// Writes a property whose EDM type is known only at run time.
    ///
    /// # Errors
    /// The errors of [`property`](Self::property).
    pub fn value(&mut self, name: &str, value: &Edm<'_>) -> Result<()> {
        let name = &*self.whole(name);
        self.check(name, value)?;
        match &mut self.destination {
            Destination::Json(object) => object.property(name, value),
            Destination::Values(values) => values.put(name, value),
        }
        Ok(())
    }

    /// Writes a property without a type annotation, because plain JSON shows its type.
    pub(crate) fn plain(&mut self, name: &str, value: &Edm<'_>) -> Result<()> {
        let name = &*self.whole(name);
        self.check(name, value)?;
        match &mut self.destination {
            Destination::Json(object) => object.plain_property(name, value),
            Destination::Values(values) => values.put(name, value),
        }
        Ok(())
    }

    /// Checks a property with its full name.
    fn check(&mut self, name: &str, value: &Edm<'_>) -> Result<()> {
        if let Some(fault) = property_name_fault(name) {
            return Err(Error::invalid_input(format!("property name {name:?}: {fault}")));
        }
        self.count(|| name, utf16_len(name), value)
    }

    /// Checks a value and counts its property. The name has `units` UTF-16 units and was checked before; it is a
    /// closure because few values need it.
    #[inline(always)]
    fn count<'n>(&mut self, name: impl Fn() -> &'n str, units: usize, value: &Edm<'_>) -> Result<()> {
        if self.tag.is_some_and(|tag| tag == name()) {
            return Err(invalid(
                name(),
                "the entity has it, and it distinguishes the variants of the enum",
            ));
        }
        match value {
            // Text never has more UTF-16 units than bytes, so only long text is counted.
            Edm::String(text) if text.len() > MAX_STRING_UNITS && utf16_len(text) > MAX_STRING_UNITS => {
                let units = utf16_len(text);
                let why = format!(
                    "property `{}`: the text has {units} UTF-16 units, more than the limit of {MAX_STRING_UNITS}; use \
                     #[table(chunked)] for longer text",
                    name()
                );
                self.rare().exceed(why);
            }
            Edm::Binary(bytes) if bytes.len() > MAX_BINARY_BYTES => {
                let bytes = bytes.len();
                let why = format!(
                    "property `{}`: it has {bytes} bytes, more than the limit of {MAX_BINARY_BYTES}; use #[table(chunked)] for \
                     longer values",
                    name()
                );
                self.rare().exceed(why);
            }
            Edm::DateTime(time) if *time < DateTime::MIN_STORED => {
                return Err(invalid(
                    name(),
                    format!("{time} is before the earliest date stored, {}", DateTime::MIN_STORED),
                ));
            }
            _ => {}
        }
        self.count += 1;
        self.size += entity_size::of_property(units, value);
        Ok(())
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}

/// Creates the writer of an entity with these keys.
pub(crate) fn writer<'a>(destination: Destination<'a>, partition_key: &str, row_key: &str) -> PropertyWriter<'a> {
    let size = entity_size::of_keys(partition_key, row_key);
    PropertyWriter {
        destination,
        prefix: String::new(),
        count: 0,
        size,
        rare: None,
        tag: None,
    }
}

/// Checks the entity as a whole.
pub(crate) fn finish(mut writer: PropertyWriter<'_>) -> Result<Option<Box<Rare>>> {
    if writer.count > MAX_PROPERTIES {
        return Err(Error::invalid_input(format!(
            "the entity has {} properties, more than the limit of {MAX_PROPERTIES}",
            writer.count
        )));
    }
    if writer.size > MAX_ENTITY_BYTES {
        let size = writer.size;
        let why = format!("the entity has {size} bytes (estimated), more than the limit of {MAX_ENTITY_BYTES}");
        writer.rare().exceed(why);
    }
    Ok(writer.rare)
}

/// The parts that few entities have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rare {
    /// The value of the `write_id` field.
    pub write_id: Option<Guid>,
    /// The first limit of Azure Storage that the entity exceeds. Cosmos DB may accept it.
    pub exceeds: Option<Box<str>>,
}

impl Rare {
    /// Records a limit that the entity exceeds, unless it exceeds another.
    pub(crate) fn exceed(&mut self, why: String) {
        self.exceeds.get_or_insert_with(|| why.into());
    }
}

fn invalid(name: &str, why: impl fmt::Display) -> Error {
    Error::invalid_input(format!("property `{name}`: {why}"))
}
