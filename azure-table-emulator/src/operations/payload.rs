//! Payloads: JSON of entities, tables and pages, at the three metadata levels.
//!
//! Decides which members an entity has at each level, and their order. The text of JSON is in `json_text.rs`. The
//! properties of a row are encoded when they are stored (`store/members.rs`). The parsing side is
//! `entity/read_json.rs`.
//!
//! Source: REST "Payload format for Table service operations"; the members have the order of recorded responses.

use std::borrow::Cow;

use azure_table_wire::codec::odata::time::TimeText;
use azure_table_wire::codec::url;
use azure_table_wire::value::datetime;
use azure_table_wire::value::edm::{Edm, EdmType};
use azure_table_wire::value::name::SYSTEM_PROPERTIES;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::json_text::{name, text, text_member};
use crate::request::options::Select;
use crate::response::format::Level;
use crate::rules::{MemberOrder, ServiceRules};
use crate::store::members::{Members, StoredMember};
use crate::store::row::{Row, RowId, time_text};
use crate::store::site::Site;

/// The characters that are encoded in a selection. Only a space was seen.
const ENCODED_IN_SELECT: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'%');

/// The parameters of the JSON of a table's entities, or of tables.
#[derive(Debug)]
pub(crate) struct PayloadShape<'a> {
    pub(crate) site: &'a Site,
    pub(crate) table: &'a str,
    pub(crate) level: Level,
    pub(crate) select: Option<&'a Select>,
}

/// Returns `table(PartitionKey='…',RowKey='…')` as the service writes it: keys encoded, but quotes doubled and raw.
pub(crate) fn entity_address(table: &str, id: &RowId, rules: &ServiceRules) -> String {
    let mut address = String::with_capacity(64 + table.len() + id.partition_key.len() + id.row_key.len());
    address.extend(url::encode(table));
    address.push_str("(PartitionKey='");
    put_key(&mut address, &id.partition_key, rules);
    address.push_str("',RowKey='");
    put_key(&mut address, &id.row_key, rules);
    address.push_str("')");
    address
}

/// Returns `Tables('…')`, the address of a table.
pub(crate) fn table_address(table: &str) -> String {
    format!("Tables('{}')", url::encode(table))
}

fn put_key(address: &mut String, key: &str, rules: &ServiceRules) {
    let mut key = Cow::Borrowed(key);
    if key.contains('\'') {
        key = key.replace('\'', "''").into();
    }
    if rules.encodes_percent_twice && key.contains('%') {
        key = key.replace('%', "%25").into();
    }
    address.extend(utf8_percent_encode(&key, rules.encoded_in_addresses));
}

impl PayloadShape<'_> {
    /// Returns one entity as the body of a response.
    pub(crate) fn entity(&self, id: &RowId, row: &Row) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        out.push(b'{');
        match self.order() {
            MemberOrder::MetadataFirst => {
                self.metadata_url(&mut out, "", "/@Element");
                self.members(&mut out, id, row);
            }
            MemberOrder::MetadataLast => {
                self.address_members(&mut out, id);
                self.metadata_url(&mut out, &format!("/{}", self.table), "/@Element");
                self.etag_and_properties(&mut out, id, row);
            }
        }
        out.push(b'}');
        out
    }

    /// Returns one table as the body of a response.
    pub(crate) fn table(&self, name: &str) -> Vec<u8> {
        let mut out = vec![b'{'];
        if self.order() == MemberOrder::MetadataFirst {
            self.metadata_url(&mut out, "", "/@Element");
        }
        self.table_members(&mut out, name);
        if self.order() == MemberOrder::MetadataLast {
            self.metadata_url(&mut out, "", "/@Element");
        }
        out.push(b'}');
        out
    }

    /// Returns the beginning of a page. [`row`](Self::row) or [`listed_table`](Self::listed_table) writes its elements,
    /// and [`end`](Self::end) its end.
    pub(crate) fn page(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        out.push(b'{');
        if self.order() == MemberOrder::MetadataFirst {
            self.metadata_url(&mut out, "", "");
        }
        name(&mut out, "value");
        out.push(b'[');
        out
    }

    /// Appends an entity to a page.
    pub(crate) fn row(&self, out: &mut Vec<u8>, id: &RowId, row: &Row) {
        begin_element(out);
        self.members(out, id, row);
        out.push(b'}');
    }

    /// Appends a table to a page.
    pub(crate) fn listed_table(&self, out: &mut Vec<u8>, name: &str) {
        begin_element(out);
        self.table_members(out, name);
        out.push(b'}');
    }

    /// Appends the end of a page.
    pub(crate) fn end(&self, out: &mut Vec<u8>) {
        out.push(b']');
        if self.order() == MemberOrder::MetadataLast {
            self.metadata_url(out, "", "");
        }
        out.push(b'}');
    }

    fn order(&self) -> MemberOrder {
        self.site.rules.member_order
    }

    fn metadata_url(&self, out: &mut Vec<u8>, below: &str, element: &str) {
        if self.level > Level::None {
            let select = self.select.filter(|_| self.order() == MemberOrder::MetadataFirst);
            // Encoded once more (recorded of azure-data-tables, 2020).
            let select = select.map(|select| utf8_percent_encode(&select.text, ENCODED_IN_SELECT));
            let select = select.map_or(String::new(), |select| format!("&$select={select}"));
            let (base, table) = (&self.site.base, self.table);
            let url = format!("{base}{below}/$metadata#{table}{element}{select}");
            text_member(out, "odata.metadata", &url);
        }
    }

    fn table_members(&self, out: &mut Vec<u8>, name: &str) {
        if self.level == Level::Full {
            let address = table_address(name);
            text_member(out, "odata.type", &format!("{}.Tables", self.site.account));
            text_member(out, "odata.id", &format!("{}/{address}", self.site.base));
            text_member(out, "odata.editLink", &address);
        }
        text_member(out, "TableName", name);
    }

    fn members(&self, out: &mut Vec<u8>, id: &RowId, row: &Row) {
        self.address_members(out, id);
        self.etag_and_properties(out, id, row);
    }

    /// Appends the type and the URL of an entity, at full metadata. Storage writes its own URL after the ETag.
    fn address_members(&self, out: &mut Vec<u8>, id: &RowId) {
        if self.level == Level::Full {
            let address = entity_address(self.table, id, self.site.rules);
            text_member(out, "odata.type", &format!("{}.{}", self.site.account, self.table));
            text_member(out, "odata.id", &format!("{}/{address}", self.site.base));
            if self.order() == MemberOrder::MetadataLast {
                text_member(out, "odata.editLink", &address);
            }
        }
    }

    fn etag_and_properties(&self, out: &mut Vec<u8>, id: &RowId, row: &Row) {
        let order = self.order();
        let time = time_text(row.timestamp, self.site.rules);
        if self.level > Level::None {
            begin(out, b"\"odata.etag\":\"");
            time.put_etag(out, "\\\"");
            out.push(b'"');
        }
        if self.level == Level::Full && order == MemberOrder::MetadataFirst {
            text_member(out, "odata.editLink", &entity_address(self.table, id, self.site.rules));
        }
        match (self.select.and_then(Select::names), order) {
            (None, MemberOrder::MetadataFirst) => {
                for name in SYSTEM_PROPERTIES {
                    self.system_property(out, name, id, &time);
                }
                self.all(out, &row.members);
            }
            (None, MemberOrder::MetadataLast) => {
                // An insert keeps the keys in their original place, every other write puts them first (both recorded).
                if row.members.find("PartitionKey").is_none() {
                    self.system_property(out, "PartitionKey", id, &time);
                    self.system_property(out, "RowKey", id, &time);
                }
                self.all(out, &row.members);
                self.system_property(out, "Timestamp", id, &time);
            }
            (Some(names), _) => {
                let is_system = |name: &&String| SYSTEM_PROPERTIES.contains(&name.as_str());
                for name in names.iter().filter(is_system) {
                    self.system_property(out, name, id, &time);
                }
                for requested in names.iter().filter(|name| !is_system(name)) {
                    match row.members.find(requested) {
                        Some(member) => self.property(out, &member),
                        // A requested property that is missing is returned as null (recorded).
                        None => {
                            name(out, requested);
                            out.extend_from_slice(b"null");
                        }
                    }
                }
            }
        }
    }

    fn system_property(&self, out: &mut Vec<u8>, property: &str, id: &RowId, time: &TimeText) {
        match property {
            "PartitionKey" => {
                begin(out, b"\"PartitionKey\":");
                text(out, &id.partition_key);
            }
            "RowKey" => {
                begin(out, b"\"RowKey\":");
                text(out, &id.row_key);
            }
            _ => {
                if self.level == Level::Full {
                    begin(out, b"\"Timestamp@odata.type\":\"Edm.DateTime\"");
                }
                begin(out, b"\"Timestamp\":\"");
                out.extend_from_slice(time.as_bytes());
                out.push(b'"');
            }
        }
    }

    /// Appends all properties of a row.
    fn all(&self, out: &mut Vec<u8>, members: &Members) {
        match (self.level, self.site.rules.has_full_times) {
            (Level::Minimal | Level::Full, false) if !members.annotated().is_empty() => {
                begin(out, members.annotated());
            }
            _ => members.iter().for_each(|member| self.property(out, &member)),
        }
    }

    fn property(&self, out: &mut Vec<u8>, member: &StoredMember<'_>) {
        let written = match self.level {
            Level::None => member.bare,
            Level::Minimal | Level::Full => member.annotated,
        };
        match (self.site.rules.has_full_times, member.edm_type()) {
            // The only text in which the services differ.
            (true, EdmType::DateTime) => {
                if let Some(Edm::DateTime(time)) = member.value() {
                    let head = written.len() - datetime::ascii(time).1 - 1;
                    begin(out, &written[..head]);
                    out.extend_from_slice(time_text(time, self.site.rules).as_bytes());
                    out.push(b'"');
                }
            }
            _ => begin(out, written),
        }
    }
}

/// Appends the beginning of an object in an array, with a comma before it if needed.
fn begin_element(out: &mut Vec<u8>) {
    if !out.ends_with(b"[") {
        out.push(b',');
    }
    out.push(b'{');
}

/// Appends a member, or the beginning of one, with a comma before it if needed.
fn begin(out: &mut Vec<u8>, member: &[u8]) {
    if !out.ends_with(b"{") {
        out.push(b',');
    }
    out.extend_from_slice(member);
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::datetime::DateTime;
    use azure_table_wire::value::edm::EdmValue;

    use super::*;
    use crate::rules::STORAGE;

    fn site(host: &str) -> Site {
        crate::site::at(&format!("https://acct.table.{host}/t"))
    }

    fn shape<'a>(site: &'a Site, level: Level, select: Option<&'a Select>) -> PayloadShape<'a> {
        PayloadShape {
            site,
            table: "t",
            level,
            select,
        }
    }

    fn row() -> (RowId, Row) {
        let timestamp: DateTime = "2017-11-10T02:44:53.6366920Z".parse().unwrap();
        let properties = vec![
            ("sex".into(), EdmValue::from("male")),
            ("age".into(), EdmValue::from(39_i64)),
            ("ratio".into(), EdmValue::from(3.0)),
            ("nan".into(), EdmValue::from(f64::NAN)),
        ];
        (RowId::new("it's", "é\"/"), Row::new(&properties, timestamp))
    }

    /// The expected texts follow recordings of live responses, member by member.
    #[test]
    fn each_level_has_its_members() {
        let (id, row) = row();
        let site = site("core.windows.net");
        let body = |level| String::from_utf8(shape(&site, level, None).entity(&id, &row)).unwrap();
        assert_eq!(
            body(Level::None),
            r#"{"PartitionKey":"it's","RowKey":"\u00e9\"/","Timestamp":"2017-11-10T02:44:53.636692Z","#.to_owned()
                + r#""sex":"male","age":"39","ratio":3.0,"nan":"NaN"}"#
        );
        assert_eq!(
            body(Level::Minimal),
            r#"{"odata.metadata":"https://acct.table.core.windows.net/$metadata#t/@Element","#.to_owned()
                + r#""odata.etag":"W/\"datetime'2017-11-10T02%3A44%3A53.636692Z'\"","#
                + r#""PartitionKey":"it's","RowKey":"\u00e9\"/","Timestamp":"2017-11-10T02:44:53.636692Z","#
                + r#""sex":"male","age@odata.type":"Edm.Int64","age":"39","ratio":3.0,"#
                + r#""nan@odata.type":"Edm.Double","nan":"NaN"}"#
        );
        assert_eq!(
            body(Level::Full),
            r#"{"odata.metadata":"https://acct.table.core.windows.net/$metadata#t/@Element","odata.type":"acct.t","#
                .to_owned()
                + r#""odata.id":"https://acct.table.core.windows.net/t(PartitionKey='it''s',RowKey='%C3%A9%22%2F')","#
                + r#""odata.etag":"W/\"datetime'2017-11-10T02%3A44%3A53.636692Z'\"","#
                + r#""odata.editLink":"t(PartitionKey='it''s',RowKey='%C3%A9%22%2F')","#
                + r#""PartitionKey":"it's","RowKey":"\u00e9\"/","Timestamp@odata.type":"Edm.DateTime","#
                + r#""Timestamp":"2017-11-10T02:44:53.636692Z","sex":"male","age@odata.type":"Edm.Int64","age":"39","#
                + r#""ratio":3.0,"nan@odata.type":"Edm.Double","nan":"NaN"}"#
        );
    }

    /// As recorded of Cosmos DB: other URLs, another order, times with all their digits.
    #[test]
    fn cosmos_db_has_its_own_order_of_members() {
        let (id, row) = row();
        let site = site("cosmos.azure.com");
        let body = |level| String::from_utf8(shape(&site, level, None).entity(&id, &row)).unwrap();
        let properties =
            r#""PartitionKey":"it's","RowKey":"\u00e9\"/","sex":"male","age@odata.type":"Edm.Int64","age":"39","#
                .to_owned()
                + r#""ratio":3.0,"nan@odata.type":"Edm.Double","nan":"NaN","#;
        let metadata = r#""odata.metadata":"https://acct.table.cosmos.azure.com/t/$metadata#t/@Element","#;
        let etag = r#""odata.etag":"W/\"datetime'2017-11-10T02%3A44%3A53.6366920Z'\"","#;
        let time = r#""Timestamp":"2017-11-10T02:44:53.6366920Z""#;
        assert_eq!(body(Level::Minimal), format!("{{{metadata}{etag}{properties}{time}}}"));
        let full = body(Level::Full);
        assert!(full.starts_with(r#"{"odata.type":"acct.t","odata.id":"https://acct.table.cosmos.azure.com/t(Part"#));
        assert!(full.contains(&format!(
            r#""odata.editLink":"t(PartitionKey='it''s',RowKey='%C3%A9%22%2F')",{metadata}{etag}{properties}"Timestamp@odata.type""#
        )));
        let page = page(&shape(&site, Level::Minimal, None), &[(&id, &row)]);
        assert_eq!(
            page,
            format!(
                r#"{{"value":[{{{etag}{properties}{time}}}],"odata.metadata":"https://acct.table.cosmos.azure.com/$metadata#t"}}"#
            )
        );
    }

    fn page(shape: &PayloadShape<'_>, rows: &[(&RowId, &Row)]) -> String {
        let mut out = shape.page();
        for (id, row) in rows {
            shape.row(&mut out, id, row);
        }
        shape.end(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn selection_is_sorted_and_missing_properties_are_null() {
        let (id, row) = row();
        let query = "$select=sex,xyz,age,RowKey";
        let options = crate::request::options::Options::parse(query, &STORAGE).unwrap();
        let site = site("core.windows.net");
        let body = page(&shape(&site, Level::Minimal, options.select.as_ref()), &[(&id, &row)]);
        assert_eq!(
            body,
            r#"{"odata.metadata":"https://acct.table.core.windows.net/$metadata#t&$select=sex,xyz,age,RowKey","#
                .to_owned()
                + r#""value":[{"odata.etag":"W/\"datetime'2017-11-10T02%3A44%3A53.636692Z'\"","RowKey":"\u00e9\"/","#
                + r#""age@odata.type":"Edm.Int64","age":"39","sex":"male","xyz":null}]}"#
        );
        assert_eq!(page(&shape(&site, Level::None, None), &[]), r#"{"value":[]}"#);
        let twice = page(&shape(&site, Level::None, options.select.as_ref()), &[(&id, &row); 2]);
        assert_eq!(twice.matches("},{").count(), 1);
    }
}
