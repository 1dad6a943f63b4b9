//! The crate `azure_data_tables` 0.21: rows that it wrote, and rows that it reads.
//!
//! The bodies in `azure_data_tables_0_21` were recorded; the README there explains how.

use azure_table::entity::SerdeEntity;
use azure_table::{Emulator, ErrorKind, TableClient, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{One, one};
use crate::emulator::signed::{ACCOUNT, KEY, ask, emulator};

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("azure_data_tables_0_21/", $name, ".json")).trim_end()
    };
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum State {
    #[serde(rename = "in_review")]
    InReview,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Likes(u32);

/// The dates and the GUID are text here; the recording program used the types of chrono and uuid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Post {
    #[serde(rename = "PartitionKey")]
    blog: String,
    #[serde(rename = "RowKey")]
    id: String,
    title: String,
    letter: char,
    published: bool,
    rating: i8,
    stars: u8,
    least: i32,
    most: i32,
    views: i64,
    likes: Likes,
    bytes: u64,
    ratio: f64,
    whole: f64,
    tiny: f64,
    huge: f64,
    single: f32,
    state: State,
    written: String,
    day: String,
    reference: azure_table::Guid,
    note: Option<String>,
    subtitle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    editor: Option<String>,
    #[serde(default)]
    nothing: (),
}

fn post() -> Post {
    Post {
        blog: "Channel9".into(),
        id: "O'Brien é".into(),
        title: "\"Hello\"\n\\ \u{2028} 🦀".into(),
        letter: 'x',
        published: true,
        rating: -5,
        stars: 255,
        least: i32::MIN,
        most: i32::MAX,
        views: 5,
        likes: Likes(7),
        bytes: 2_147_483_647,
        ratio: 0.1,
        whole: 5.0,
        tiny: 5e-324,
        huge: 1e300,
        single: 0.1,
        state: State::InReview,
        written: "2026-01-02T03:04:05.123456700Z".into(),
        day: "2026-01-02".into(),
        reference: "debc44d5-04a9-42ea-ab2f-4e2cb49ff833".parse().unwrap(),
        note: None,
        subtitle: Some("of 2026".into()),
        editor: None,
        nothing: (),
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Address {
    city: String,
    zip: Option<String>,
}

fn address() -> Address {
    Address {
        city: "Seattle".into(),
        zip: None,
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Person {
    #[serde(rename = "PartitionKey")]
    group: String,
    #[serde(rename = "RowKey")]
    id: String,
    #[serde(flatten)]
    home: Address,
    age: i32,
}

fn person() -> Person {
    Person {
        group: "g".into(),
        id: "1".into(),
        home: address(),
        age: 7,
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "Kind")]
enum Entry {
    Deposit {
        #[serde(rename = "PartitionKey")]
        account: String,
        #[serde(rename = "RowKey")]
        id: String,
        cents: i32,
    },
    Fee {
        #[serde(rename = "PartitionKey")]
        account: String,
        #[serde(rename = "RowKey")]
        id: String,
        reason: String,
    },
}

fn entry() -> Entry {
    Entry::Fee {
        account: "a".into(),
        id: "1".into(),
        reason: "late".into(),
    }
}

/// Returns the members of a body that are stored: the service does not store null.
fn stored_members(body: &[u8]) -> Value {
    let mut body: Value = serde_json::from_slice(body).unwrap();
    body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    body
}

/// Returns the body that this crate sends.
async fn sent<T: Serialize>(write: impl AsyncFn(TableClient<SerdeEntity<T>>)) -> Value {
    let canned = Canned::new([Step::response(204, &[("etag", "W/\"1\"")], "")]);
    write(canned.service().table::<SerdeEntity<T>>("Posts").unwrap()).await;
    let request = canned.sent().remove(0);
    stored_members(request.body())
}

#[tokio::test]
async fn each_write_sends_the_members_that_azure_data_tables_sent() {
    let recorded = stored_members(recorded!("insert").as_bytes());
    let entity = SerdeEntity(post());
    let bodies = [
        sent(async |posts| drop(posts.insert(&entity).await.unwrap())).await,
        sent(async |posts| drop(posts.replace(&entity).await.unwrap())).await,
        sent(async |posts| drop(posts.merge(&entity).await.unwrap())).await,
        sent(async |posts| drop(posts.insert_or_replace(&entity).await.unwrap())).await,
        sent(async |posts| drop(posts.insert_or_merge(&entity).await.unwrap())).await,
    ];
    for body in bodies {
        assert_eq!(body, recorded);
    }
    let flattened = sent(async |people| drop(people.insert(&SerdeEntity(person())).await.unwrap()));
    assert_eq!(flattened.await, stored_members(recorded!("flattened").as_bytes()));
    let tagged = sent(async |entries| drop(entries.insert(&SerdeEntity(entry())).await.unwrap()));
    assert_eq!(tagged.await, stored_members(recorded!("tagged").as_bytes()));
}

/// A service with a table `Posts`, and a client of it.
async fn service() -> (Emulator, TableServiceClient) {
    let emulator = emulator();
    let account = format!("AccountName={ACCOUNT};AccountKey={KEY}");
    let service = TableServiceClient::from_connection_string(&account)
        .unwrap()
        .transport(emulator.clone());
    service.dynamic_table("Posts").unwrap().create_table().await.unwrap();
    (emulator, service)
}

/// Stores a recorded body, and reads it back as a `T` by key and by query.
async fn read<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    body: &'static str,
    key: (&str, &str),
) -> T {
    let (emulator, service) = service().await;
    let json = ("content-type", "application/json");
    let made = ask(&emulator, "POST", "Posts", &[json], body).await;
    assert_eq!(made.status(), 201, "{made:?}");
    let posts = service.table::<SerdeEntity<T>>("Posts").unwrap();
    let row = posts.get(key).await.unwrap().unwrap();
    assert_eq!(posts.query().all().await.unwrap(), std::slice::from_ref(&row));
    row.into_inner()
}

#[tokio::test]
async fn rows_of_azure_data_tables_are_read_as_they_were_written() {
    let key = ("Channel9", "O'Brien é");
    assert_eq!(read::<Post>(recorded!("insert"), key).await, post());
    assert_eq!(read::<Person>(recorded!("flattened"), ("g", "1")).await, person());
    assert_eq!(read::<Entry>(recorded!("tagged"), ("a", "1")).await, entry());
}

#[tokio::test]
async fn large_integers_that_the_service_stored_as_double_are_read_as_integers() {
    let body = recorded!("beyond_int32");
    assert_eq!(read::<One<i64>>(body, ("pk", "rk")).await.value, 3_000_000_000);
    assert_eq!(read::<One<u64>>(body, ("pk", "rk")).await.value, 3_000_000_000);
    assert_eq!(read::<One<f64>>(body, ("pk", "rk")).await.value, 3e9);
}

/// Returns the error of an insert that sends nothing.
async fn error<T: Serialize>(value: T) -> String {
    let posts = Canned::new([]).service().table::<SerdeEntity<T>>("Posts").unwrap();
    let error = posts.insert(&SerdeEntity(value)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    error.to_string()
}

/// The crate sent them anyway. The service stored another type, stored nothing, or rejected the request.
#[tokio::test]
async fn values_that_azure_data_tables_lost_are_errors_that_name_property_and_remedy() {
    let body = |recorded: &str| stored_members(recorded.as_bytes());
    assert_eq!(body(recorded!("beyond_int32"))["value"], 3_000_000_000_u64);
    assert_eq!(body(recorded!("beyond_int64"))["value"], u64::MAX);
    assert_eq!(body(recorded!("not_a_number")).get("value"), None);
    assert!(body(recorded!("list"))["value"].is_array());
    assert!(body(recorded!("nested"))["value"].is_object());

    assert_eq!(
        error(one(3_000_000_000_i64)).await,
        "insert in table Posts: entity (\"pk\", \"rk\"): property `value`: 3000000000 is beyond Edm.Int32, -2147483648 to 2147483647, and plain JSON has \
         no larger integers; use `.annotated()` on the table, which stores Edm.Int64"
    );
    let list = error(one(vec![1, 2])).await;
    assert!(list.contains("azure_table::entity::json_text"), "{list}");
    let single = "a property holds a single value, this is";
    for (text, why) in [
        (error(one(u64::MAX)).await, "18446744073709551615 is beyond".into()),
        (
            error(one(f64::NAN)).await,
            "plain JSON has no form for NaN; use `.annotated()`".into(),
        ),
        (list, format!("{single} a list; flatten it")),
        (error(one(address())).await, format!("{single} the struct `Address`")),
    ] {
        assert!(text.contains(&format!("property `value`: {why}")), "{text}");
    }
}

/// The responses of full metadata to a row that this crate wrote. The recording program read them as the same `Post`.
#[tokio::test]
async fn azure_data_tables_reads_what_this_crate_writes() {
    let (emulator, service) = service().await;
    let posts = service.table::<SerdeEntity<Post>>("Posts").unwrap();
    posts.insert(&SerdeEntity(post())).await.unwrap();
    let full = ("accept", "application/json;odata=fullmetadata");
    for (path, recorded) in [
        (
            "Posts(PartitionKey='Channel9',RowKey='O%27%27Brien%20%C3%A9')",
            recorded!("read_entity"),
        ),
        ("Posts()", recorded!("read_page")),
    ] {
        let response = ask(&emulator, "GET", path, &[full], "").await;
        let settled = |text: &[u8]| {
            let mut response: Value = serde_json::from_slice(text).unwrap();
            let row = match response.get_mut("value") {
                Some(rows) => &mut rows[0],
                None => &mut response,
            };
            // The time of the write differs.
            for name in ["Timestamp", "odata.etag"] {
                row[name].take();
            }
            response
        };
        assert_eq!(settled(response.body()), settled(recorded.as_bytes()));
    }
}
