//! The EDM types of values, in both forms, and the types into which each is read.

use azure_table::entity::SerdeEntity;
use azure_table::{DateTime, DynamicEntity, EdmValue, Guid};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{One, one};

/// Bytes in serde's data model.
#[derive(Clone, Debug, PartialEq)]
struct Raw(Vec<u8>);

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl serde::de::Visitor<'_> for Bytes {
            type Value = Raw;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Raw, E> {
                Ok(Raw(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum State {
    Draft,
    #[serde(rename = "in_review")]
    InReview,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

fn annotated<V: Serialize>(value: V) -> Result<Option<EdmValue>, String> {
    let row = DynamicEntity::from_entity(&SerdeEntity::new(one(value)).annotated());
    row.map(|mut row| row.remove("value")).map_err(|e| e.to_string())
}

fn plain<V: Serialize>(value: V) -> Result<Option<EdmValue>, String> {
    let row = DynamicEntity::from_entity(&SerdeEntity::new(one(value)));
    row.map(|mut row| row.remove("value")).map_err(|e| e.to_string())
}

fn read<V: DeserializeOwned>(value: impl Into<EdmValue>) -> Result<V, String> {
    let mut row = DynamicEntity::new("pk", "rk");
    row.insert("value", value);
    let entity = row.to_entity::<SerdeEntity<One<V>>>();
    entity
        .map(|entity| entity.into_inner().value)
        .map_err(|e| e.to_string())
}

/// Writes the value in both forms, as these EDM values, and reads it back.
fn both<V: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug + Clone>(value: V, edm: impl Into<EdmValue>) {
    let edm = edm.into();
    each(value, Ok(edm.clone()), edm);
}

/// The same if the plain form is another value, or an error with this text.
fn each<V: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug + Clone>(
    value: V,
    is_plain: Result<EdmValue, &str>,
    is_annotated: impl Into<EdmValue>,
) {
    let is_annotated = is_annotated.into();
    match is_plain {
        Ok(expected) => {
            assert_eq!(plain(value.clone()).unwrap(), Some(expected.clone()));
            assert_eq!(read::<V>(expected).unwrap(), value);
        }
        Err(expected) => {
            let error = plain(value.clone()).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
    assert_eq!(annotated(value.clone()).unwrap(), Some(is_annotated.clone()));
    assert_eq!(read::<V>(is_annotated).unwrap(), value);
}

#[test]
fn each_value_of_serde_has_its_edm_type() {
    both(true, true);
    both(i8::MIN, i32::from(i8::MIN));
    both(i16::MIN, i32::from(i16::MIN));
    both(i32::MIN, i32::MIN);
    both(u8::MAX, i32::from(u8::MAX));
    both(u16::MAX, i32::from(u16::MAX));
    both(5.0_f64, 5.0);
    both(0.5_f32, 0.5);
    both("x".to_owned(), "x");
    both('é', "é");
    both(State::InReview, "in_review");
    both(Some(State::Draft), "Draft");
    let date: DateTime = "2026-01-02T03:04:05.1Z".parse().unwrap();
    both(date, "2026-01-02T03:04:05.1Z");
    both(Guid([0; 16]), "00000000-0000-0000-0000-000000000000");
    both("127.0.0.1".parse::<std::net::IpAddr>().unwrap(), "127.0.0.1");
    each(5_i64, Ok(5.into()), 5_i64);
    each(5_u32, Ok(5.into()), 5_i64);
    each(5_u64, Ok(5.into()), 5_i64);
    each(5_i128, Ok(5.into()), 5_i64);
    each(5_u128, Ok(5.into()), 5_i64);
    each(0.1_f32, Ok(0.1.into()), f64::from(0.1_f32));
    let beyond = "is beyond Edm.Int32, -2147483648 to 2147483647";
    each(i64::MIN, Err(beyond), i64::MIN);
    each(i64::MAX as u64, Err(beyond), i64::MAX);
    each(u32::MAX, Err(beyond), i64::from(u32::MAX));
    each(i128::from(i64::MIN), Err(beyond), i64::MIN);
    each(f64::INFINITY, Err("plain JSON has no form for inf"), f64::INFINITY);
    each(f32::INFINITY, Err("plain JSON has no form for inf"), f64::INFINITY);
    let no_bytes = "plain JSON has no form for bytes";
    each(Raw(vec![0, 255]), Err(no_bytes), vec![0_u8, 255]);
    let none = None::<i64>;
    for absent in [plain(none), annotated(none), plain(()), annotated(()), plain(Unit)] {
        assert_eq!(absent, Ok(None));
    }
}

#[test]
fn values_that_no_property_has_are_errors_that_name_property_and_remedy() {
    for (error, what) in [
        (annotated(vec![1]), "a list"),
        (annotated((1, 2)), "a tuple"),
        (annotated(one(1)), "the struct `One`"),
        (annotated(std::collections::BTreeMap::from([(1, 2)])), "a map"),
        (annotated(Ok::<i32, ()>(1)), "the variant `Ok` with a value"),
    ] {
        let error = error.unwrap_err();
        let why = format!("property `value`: a property holds a single value, this is {what};");
        assert!(error.contains(&why) && error.contains("flatten"), "{error}");
    }
    for (error, number) in [
        (annotated(u64::MAX), u64::MAX.to_string()),
        (annotated(u128::MAX), u128::MAX.to_string()),
    ] {
        let error = error.unwrap_err();
        let why = format!("property `value`: {number} is beyond Edm.Int64");
        assert!(error.contains(&why), "{error}");
    }
    struct Fails;
    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("it is not to be written"))
        }
    }
    let error = plain(Fails).unwrap_err();
    assert!(error.contains("property `value`: it is not to be written"), "{error}");
}

#[test]
fn integers_and_floats_are_read_from_every_edm_type_that_holds_them() {
    assert_eq!(read::<i32>(5_i64), Ok(5));
    assert_eq!(read::<u8>(5_i64), Ok(5));
    assert_eq!(read::<i64>(5), Ok(5));
    assert_eq!(read::<i64>(5.0), Ok(5));
    assert_eq!(read::<u64>(9_007_199_254_740_992.0), Ok(1 << 53));
    assert_eq!(read::<f64>(5), Ok(5.0));
    assert_eq!(read::<f32>(5), Ok(5.0));
    assert_eq!(read::<f32>(0.1), Ok(0.1));
    assert_eq!(read::<f32>(f64::INFINITY), Ok(f32::INFINITY));
    assert_eq!(read::<f64>(1_i64 << 62), Ok(4_611_686_018_427_387_904.0));
    assert_eq!(read::<Option<i64>>(i64::MAX), Ok(Some(i64::MAX)));
    macro_rules! rejected {
        ($($type:ty, $value:expr => $text:literal;)*) => {$(
            let error = read::<$type>($value).map(drop).unwrap_err();
            assert!(error.contains($text), "{error}");
            assert!(error.contains("entity (\"pk\", \"rk\"): property `value`: "), "{error}");
            assert!(!error.contains("secret"), "{error}");
        )*};
    }
    rejected! {
        i32, i64::MAX => "expected i32, found integer `9223372036854775807`";
        u8, -1 => "expected u8, found integer `-1`";
        i64, 5.5 => "expected i64, found floating point `5.5`";
        i64, 1e17 => "expected i64, found floating point `100000000000000000.0`";
        f64, i64::MAX => "no floating point number is the Edm.Int64 9223372036854775807 exactly";
        f32, 16_777_217 => "no f32 is 16777217 exactly";
        f32, 1e300 => "is beyond the range of f32";
        i64, "secret" => "expected i64, found text";
        bool, 1 => "expected a boolean, found integer `1`";
        String, 1 => "expected a string, found integer `1`";
        Vec<u8>, vec![1_u8] => "or bytes with the crate serde_bytes";
        One<i32>, "{}" => "a property holds a single value";
        State, "other" => "unknown variant `other`";
    }
}

#[test]
fn text_fields_read_what_the_service_writes_as_text() {
    let (date, guid) = ("2026-01-02T03:04:05.1Z", "debc44d5-04a9-42ea-ab2f-4e2cb49ff833");
    let (of_date, of_guid): (DateTime, Guid) = (date.parse().unwrap(), guid.parse().unwrap());
    assert_eq!(read::<String>(of_date).as_deref(), Ok(date));
    assert_eq!(read::<DateTime>(of_date), Ok(of_date));
    assert_eq!(read::<String>(of_guid).as_deref(), Ok(guid));
    assert_eq!(read::<Guid>(of_guid), Ok(of_guid));
    assert_eq!(read::<String>(5_i64).as_deref(), Ok("5"));
    assert_eq!(read::<String>(vec![1_u8, 2]).as_deref(), Ok("AQI="));
}
