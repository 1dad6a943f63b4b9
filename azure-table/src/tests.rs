//! Signatures, addresses, values and connection strings as the official SDKs produce them.
//!
//! The vectors are in the folder `vectors` of this crate, with a page on how they were generated. Facts that need no
//! SDK are unit tests next to the code.

use std::path::Path;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::account::signature::{SigningKey, canonicalized_resource, shared_key, shared_key_lite};
use azure_table_wire::codec::json::write::Object;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::codec::url;
use azure_table_wire::sas::permissions::{AccountPermissions, AccountResources, TablePermissions};
use azure_table_wire::value::datetime::DateTime;
use bytes::Bytes;
use http::Response;
use serde_json::Value;

use crate::account::account_key::AccountKey;
use crate::account::connection_string::{ConnectionString, Identity, SETTINGS};
use crate::account::sas_builder::{AccountSas, TableSas};
use crate::account::table_name::TableName;
use crate::entity::dynamic::DynamicEntity;
use crate::entity::read_json;
use crate::entity::table_entity::ReadEntity;
use crate::write::batch::ChangeSet;
use crate::write::batch_response;
use crate::write::operation::TableOperation;
use crate::write::path;

fn vectors(file: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors");
    let text = std::fs::read(Path::new(folder).join(file)).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn cases(vectors: &Value) -> impl Iterator<Item = &Value> {
    vectors["cases"].as_array().unwrap().iter()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// `vectors/shared_key.json`.
#[test]
fn shared_key_signatures_match_the_sdks() {
    let vectors = vectors("shared_key.json");
    let mut checked = 0;
    for case in cases(&vectors).filter(|case| case.get("sdk_bug").is_none()) {
        let key = SigningKey::from_base64(text(&vectors["keys"][text(case, "key")], "key")).unwrap();
        let headers = &case["headers"];
        let date = headers["x-ms-date"].as_str().or(headers["date"].as_str()).unwrap();
        let resource = canonicalized_resource(text(case, "account"), text(case, "path"), case["query"].as_str());
        let to_sign = shared_key(
            text(case, "method"),
            text(headers, "content-md5"),
            text(headers, "content-type"),
            date,
            resource,
        )
        .concat();
        assert_eq!(to_sign, text(case, "string_to_sign"), "{}", case["name"]);
        let authorization = format!("SharedKey {}:{}", text(case, "account"), key.sign(&to_sign));
        assert_eq!(authorization, text(case, "authorization"), "{}", case["name"]);
        checked += 1;
    }
    assert!(checked >= 40, "{checked}");
}

/// `vectors/shared_key_lite.json`.
#[test]
fn shared_key_lite_signatures_match_the_sdks() {
    let vectors = vectors("shared_key_lite.json");
    assert!(cases(&vectors).count() >= 14);
    for case in cases(&vectors) {
        let key = SigningKey::from_base64(text(&vectors["keys"][text(case, "key")], "key")).unwrap();
        let resource = canonicalized_resource(text(case, "account"), text(case, "path"), case["query"].as_str());
        let to_sign = shared_key_lite(text(&case["headers"], "x-ms-date"), resource).concat();
        assert_eq!(to_sign, text(case, "string_to_sign"), "{}", case["name"]);
        let authorization = format!("SharedKeyLite {}:{}", text(case, "account"), key.sign(&to_sign));
        assert_eq!(authorization, text(case, "authorization"), "{}", case["name"]);
    }
}

/// `vectors/sas.json`: the SDKs' signatures, built by this crate's builders. Where the SDKs disagree (the order of
/// letters and of resource types), ours is the service's, which one of them has.
#[test]
fn shared_access_signatures_match_the_sdks() {
    let vectors = vectors("sas.json");
    let mut checked = 0;
    for case in cases(&vectors).filter(|case| case["input"].is_object()) {
        let input = &case["input"];
        let account = &vectors["keys"][text(case, "key")];
        let key = AccountKey::new(text(account, "account"), text(account, "key")).unwrap();
        // The vector of a name that is too short for a table is a unit test of `sas_parameters.rs`.
        if text(input, "table") == "T1" {
            continue;
        }
        let time = |name| input[name].as_str().map(|time: &str| time.parse::<DateTime>().unwrap());
        let token = match text(input, "kind") {
            "table" => {
                let mut sas = TableSas::new(&TableName::new(text(input, "table")).unwrap());
                if let Some(letters) = input["permission"].as_str() {
                    let permission = |letter| match letter {
                        'r' => TablePermissions::READ,
                        'a' => TablePermissions::ADD,
                        'u' => TablePermissions::UPDATE,
                        _ => TablePermissions::DELETE,
                    };
                    sas = sas.permissions(letters.chars().map(permission).reduce(|a, b| a | b).unwrap());
                }
                sas = time("start").into_iter().fold(sas, TableSas::start);
                sas = time("expiry").into_iter().fold(sas, TableSas::expiry);
                sas = input["ip"].as_str().into_iter().fold(sas, TableSas::ip);
                sas = input["policy"].as_str().into_iter().fold(sas, TableSas::policy);
                if text(input, "protocol") == "https" {
                    sas = sas.https_only();
                }
                if input["spk"].is_string() {
                    sas = sas.first(text(input, "spk"), text(input, "srk"));
                }
                if input["epk"].is_string() {
                    sas = sas.last(text(input, "epk"), text(input, "erk"));
                }
                sas.sign(&key).unwrap()
            }
            _ => {
                let permission = |letter| match letter {
                    'r' => AccountPermissions::READ,
                    'w' => AccountPermissions::WRITE,
                    'd' => AccountPermissions::DELETE,
                    'l' => AccountPermissions::LIST,
                    'a' => AccountPermissions::ADD,
                    'c' => AccountPermissions::CREATE,
                    _ => AccountPermissions::UPDATE,
                };
                let resource = |letter| match letter {
                    's' => AccountResources::SERVICE,
                    'c' => AccountResources::TABLES,
                    _ => AccountResources::ENTITIES,
                };
                let permissions = text(input, "permission")
                    .chars()
                    .map(permission)
                    .reduce(|a, b| a | b)
                    .unwrap();
                let resources = text(input, "resource_types")
                    .chars()
                    .map(resource)
                    .reduce(|a, b| a | b)
                    .unwrap();
                let mut sas = AccountSas::new(permissions, resources, time("expiry").unwrap());
                sas = time("start").into_iter().fold(sas, AccountSas::start);
                sas = input["ip"].as_str().into_iter().fold(sas, AccountSas::ip);
                if text(input, "protocol") == "https" {
                    sas = sas.https_only();
                }
                sas.sign(&key).unwrap()
            }
        };
        // Both protocols are what no restriction means: it is not written here.
        // And one SDK orders the resource types otherwise, while the other has no letter for `create`.
        if text(input, "protocol") == "https,http" || text(case, "id") == "account: all, sco" {
            continue;
        }
        let signature = token
            .expose()
            .rsplit_once("&sig=")
            .map(|(_, signature)| url::decode(signature).unwrap())
            .unwrap();
        let signed_alike = ["python", "js"].into_iter().any(|sdk| {
            let theirs = text(&case[sdk], "token");
            theirs.split('&').any(|pair| {
                pair.strip_prefix("sig=")
                    .and_then(url::decode)
                    .is_some_and(|theirs| theirs == signature)
            })
        });
        assert!(signed_alike, "{}: {}", case["id"], token.expose());
        checked += 1;
    }
    assert!(checked >= 18, "{checked}");
}

/// `vectors/keys.json`.
#[test]
fn keys_have_the_canonical_url() {
    let vectors = vectors("keys.json");
    let mut checked = 0;
    // A vector without key texts has nothing to check.
    for case in cases(&vectors).filter(|case| case["partition_key"].is_string()) {
        let path = format!(
            "/{}",
            path::entity("T", text(case, "partition_key"), text(case, "row_key"))
        );
        assert_eq!(path, text(case, "canonical_path"));
        checked += 1;
    }
    assert!(checked >= 35, "{checked}");
}

/// `vectors/entities.json`: the SDKs' requests are parsed and written back with the same meaning.
#[test]
fn values_of_the_sdks_are_parsed_and_written_back() {
    let vectors = vectors("entities.json");
    let mut checked = 0;
    for case in cases(&vectors) {
        for sdk in ["python", "js"] {
            let (Some(body), Some(edm_type)) = (case[sdk]["body"].as_str(), case["edm_type"].as_str()) else {
                continue;
            };
            let accepted = case[sdk]["status"].as_u64().is_some_and(|status| status < 300);
            if !accepted || body.contains("<base64") {
                continue;
            }
            let Ok(entity) = read_json::entity(body.as_bytes(), MetadataLevel::Minimal, None, DynamicEntity::read)
            else {
                panic!("{} of {sdk}: {body}", case["id"]);
            };
            let Some(value) = entity.get("P") else { continue };
            // JavaScript has one number type and no annotation for it.
            if sdk == "python" {
                assert_eq!(value.edm_type().name(), edm_type, "{}", case["id"]);
            }
            let mut object = Object::new();
            object.text("PartitionKey", &entity.partition_key);
            object.text("RowKey", &entity.row_key);
            object.property("P", value);
            let body = object.finish();
            let again = read_json::entity(&body, MetadataLevel::Minimal, None, DynamicEntity::read).unwrap();
            assert_eq!(
                format!("{:?}", again.get("P")),
                format!("{:?}", Some(value)),
                "{}",
                case["id"]
            );
            checked += 1;
        }
    }
    assert!(checked >= 60, "{checked}");
}

/// `vectors/multipart.json`: each response is parsed to the result, or to the failure with the index and code, that its
/// SDK reported.
#[test]
fn batch_responses_of_azurite_are_parsed() {
    let vectors = vectors("multipart.json");
    let (mut applied, mut failed) = (0, 0);
    for case in cases(&vectors) {
        let (name, result) = (&case["name"], &case["sdk_result"]);
        let lines = text(&case["request"], "body").lines();
        let requests: Vec<&str> = lines.filter(|line| line.contains(" HTTP/1.1")).collect();
        let sent = requests.len();
        let mut set = ChangeSet::new(&Endpoint::development(), "Things");
        for (row, request) in requests.iter().enumerate() {
            let entity = DynamicEntity::new("pk", row.to_string());
            // Only deleted entities have no ETag afterwards.
            let operation = if request.starts_with("DELETE") {
                TableOperation::delete(&entity)
            } else {
                TableOperation::insert(&entity)
            };
            set.add(operation).unwrap();
        }
        let response = &case["azurite_response"];
        let response = Response::builder()
            .status(u16::try_from(response["status"].as_u64().unwrap()).unwrap())
            .header("content-type", text(response, "content_type"))
            .body(Bytes::copy_from_slice(text(response, "body").as_bytes()))
            .unwrap();
        // One SDK reports the code as such, the other in its own word.
        let code = result["error_code"].as_str().or(result["code"].as_str());
        let (_, sent_batch) = set.into_request();
        match (batch_response::read_response(&sent_batch, response), code) {
            (Ok(results), None) => {
                assert_eq!(results.len(), sent, "{name}");
                let statuses: Vec<u64> = results.iter().map(|result| result.status().into()).collect();
                let reported = result["parts"].as_array();
                if let Some(reported) = reported {
                    assert_eq!(
                        reported.iter().filter_map(Value::as_u64).collect::<Vec<_>>(),
                        statuses,
                        "{name}"
                    );
                }
                applied += 1;
            }
            (Err(error), Some(code)) => {
                // The index is the beginning of the service's message.
                let said = result["message"].as_str().or(result["error"].as_str()).unwrap();
                let index = said.split(':').next().unwrap().parse::<usize>().unwrap();
                assert_eq!(error.code(), Some(code), "{name}: {error}");
                assert_eq!(error.batch_index(), Some(index), "{name}: {error}");
                assert_eq!(error.entity(), Some(("pk", &*index.to_string())), "{name}: {error}");
                assert!(!error.may_have_applied(), "{name}: {error}");
                failed += 1;
            }
            (outcome, code) => panic!("{name}: {outcome:?}, and the SDK read {code:?}"),
        }
    }
    assert!(applied >= 6 && failed >= 12, "{applied} {failed}");
}

/// `vectors/connection_strings.json`.
#[test]
fn connection_strings_are_parsed_as_expected() {
    let vectors = vectors("connection_strings.json");
    let (mut read, mut rejected) = (0, 0);
    for case in cases(&vectors) {
        let connection_string = text(case, "connection_string");
        let expected = &case["expected"];
        match ConnectionString::parse(connection_string) {
            Ok(parsed) => {
                // The SDKs keep a default port.
                let primary = text(expected, "primary").trim_end_matches(":443");
                assert_eq!(parsed.endpoint.base(), primary, "{connection_string}");
                assert_eq!(
                    parsed.endpoint.account(),
                    expected["account"].as_str(),
                    "{connection_string}"
                );
                assert_eq!(
                    parsed.endpoint.secondary(),
                    expected["secondary"].as_str(),
                    "{connection_string}"
                );
                let credential = match &parsed.identity {
                    Identity::Key(_) => "key",
                    Identity::Sas(_) => "sas",
                };
                assert_eq!(credential, text(expected, "credential"), "{connection_string}");
                let again = ConnectionString::parse(&parsed.expose()).unwrap();
                assert_eq!(again.endpoint, parsed.endpoint, "{connection_string}");
                assert_eq!(*again.expose(), *parsed.expose(), "{connection_string}");
                read += 1;
            }
            Err(e) => {
                assert!(expected.get("error").is_some(), "{connection_string}: {e}");
                let (e, why) = (e.to_string(), text(expected, "error"));
                assert!(!e.contains("AAECAw") && !e.contains("AAAA%3D"), "{e}");
                let said = at_fault(why);
                assert!(!said.is_empty(), "nothing is known to be said of {why:?}: {e}");
                for said in said {
                    assert!(e.contains(said), "{said} is not in {e:?}, of {why:?}");
                }
                rejected += 1;
            }
        }
    }
    assert!(read >= 21 && rejected >= 9, "{read} {rejected}");
}

/// The words that the error must contain for each reason in the vectors: the names of settings, and the meaning of
/// other words.
fn at_fault(why: &str) -> Vec<&'static str> {
    let settings = SETTINGS.iter().copied().filter(|setting| why.contains(setting));
    let words = [
        ("protocol must be", "DefaultEndpointsProtocol must be http or https"),
        ("neither key nor SAS", "neither AccountKey nor SharedAccessSignature"),
        (
            "no AccountName and no TableEndpoint",
            "neither AccountName nor TableEndpoint",
        ),
        ("the same setting twice", "AccountName occurs twice"),
        ("a part without =", "part 2 is not of the form Name=Value"),
        ("not base64", "not base64"),
        ("empty", "empty"),
    ];
    let words = words.into_iter().filter(|(word, _)| why.contains(word));
    settings.chain(words.map(|(_, said)| said)).collect()
}
