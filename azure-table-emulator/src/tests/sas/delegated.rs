//! Signatures by a user delegation key: requesting the key, its permissions, its end.

use azure_table_wire::sas::parameters::user_delegation_string_to_sign;
use azure_table_wire::sas::user_delegation_key::{self, KeyInfo, UserDelegationKey};

use super::super::tokens::{SECURE, VERSION, bear};
use super::*;

const KEY: &str = "?restype=service&comp=userdelegationkey";

fn at(text: &str) -> DateTime {
    text.parse().unwrap()
}

/// Creates an emulator with rows and a clock stopped at 2030-01-01.
async fn emulator() -> (Emulator, EmulatorClock) {
    let emulator = with_rows().await.token("good");
    let clock = EmulatorClock::fixed(at("2030-01-01T00:00:00Z"));
    (emulator.shared_clock(clock.clone()), clock)
}

async fn ask(emulator: &Emulator, start: &str, expiry: &str) -> Response<Bytes> {
    let info = KeyInfo {
        start: at(start),
        expiry: at(expiry),
        delegated_tenant_id: None,
    };
    let body = String::from_utf8(info.to_xml().to_vec()).unwrap();
    let version = [("x-ms-version", "2025-07-05")];
    let mut request = unsigned_at(SECURE, "POST", KEY, &version, &body);
    request
        .headers_mut()
        .insert("authorization", "Bearer good".parse().unwrap());
    emulator.send(request).await.unwrap()
}

async fn key(emulator: &Emulator) -> UserDelegationKey {
    let response = ask(emulator, "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z").await;
    assert_eq!(response.status(), 200);
    assert!(body(&response).starts_with('\u{feff}'));
    user_delegation_key::from_xml(response.body()).unwrap()
}

const PARAMETERS: &[(&str, &str)] = &[
    ("sv", "2025-07-05"),
    ("tn", "Blogs"),
    ("sp", "r"),
    ("se", "2030-01-03"),
    ("spk", "b"),
    ("epk", "b"),
];

/// Builds the query of a signature by `key`, with `changes` applied before it is signed.
fn signed(key: &UserDelegationKey, changes: &[(&str, &str)]) -> String {
    let mut pairs: Vec<(&str, String)> = PARAMETERS.iter().map(|(n, v)| (*n, (*v).to_owned())).collect();
    pairs.extend(user_delegation_key::parameters(key));
    for (name, value) in changes {
        pairs.retain(|(known, _)| known != name);
        pairs.push((name, (*value).to_owned()));
    }
    let mut parameters = SasParameters::default();
    for (name, value) in pairs {
        parameters.add(name, value);
    }
    let to_sign = user_delegation_string_to_sign(&parameters, DEVELOPMENT_ACCOUNT, "Blogs");
    parameters.add("sig", user_delegation_key::signing_key(key).unwrap().sign(&to_sign));
    let pairs = parameters.pairs().iter();
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name}={}", azure_table_wire::codec::url::encode(value)))
        .collect();
    pairs.join("&")
}

#[tokio::test]
async fn key_signs_for_the_rows_of_a_table_until_it_expires() {
    let (emulator, clock) = emulator().await;
    let key = key(&emulator).await;
    assert_eq!(key.expiry(), at("2030-01-02T00:00:00Z"));
    let good = signed(&key, &[]);
    let response = try_with(&emulator, "GET", "Blogs", "", &good).await;
    assert_eq!(keys(&response), ["b1", "b2", "b3"]);
    for (changes, code) in [
        (&[("sp", "d")][..], "AuthorizationPermissionMismatch"),
        (&[("sv", "2020-12-06")], "AuthenticationFailed"),
        (&[("ske", "2030-01-03T00:00:00Z")], "AuthenticationFailed"),
        (
            &[("skoid", "11111111-0000-0000-0000-000000000000")],
            "AuthenticationFailed",
        ),
        (&[("se", "2029-12-31")], "AuthenticationFailed"),
        (&[("si", "policy")], "AuthenticationFailed"),
        (&[("spr", "https")], "AuthorizationProtocolMismatch"),
    ] {
        let response = try_with(&emulator, "GET", "Blogs", "", &signed(&key, changes)).await;
        assert_eq!(error(&response).1, code, "{changes:?}");
    }
    let tables = try_with(&emulator, "GET", "Tables", "", &good).await;
    assert_eq!(error(&tables).1, "AuthorizationFailure");
    let forged = good.replace("sig=", "sig=A");
    assert_eq!(try_with(&emulator, "GET", "Blogs", "", &forged).await.status(), 403);
    clock.advance(Duration::from_secs(24 * 3_600 - 1));
    assert_eq!(try_with(&emulator, "GET", "Blogs", "", &good).await.status(), 200);
    clock.advance(Duration::from_secs(1));
    let ended = try_with(&emulator, "GET", "Blogs", "", &good).await;
    assert_eq!(
        error(&ended).1,
        "AuthenticationFailed",
        "the key ends before its signature"
    );
}

#[tokio::test]
async fn signature_for_one_user_requires_their_token() {
    let (emulator, _) = emulator().await;
    let key = key(&emulator).await;
    let bound = signed(&key, &[("sduoid", "00000000-0000-0000-0000-000000000000")]);
    let path = format!("Blogs?{bound}");
    assert_eq!(keys(&bear(&emulator, "GET", &path, &[], "").await), ["b1", "b2", "b3"]);
    let alone = unsigned_at(SECURE, "GET", &path, &[VERSION], "");
    assert_eq!(emulator.send(alone).await.unwrap().status(), 401);
    let other = signed(&key, &[("sduoid", "11111111-0000-0000-0000-000000000000")]);
    let response = bear(&emulator, "GET", &format!("Blogs?{other}"), &[], "").await;
    assert_eq!(error(&response).1, "AuthenticationFailed");
}

#[tokio::test]
async fn token_obtains_a_key_for_at_most_seven_days() {
    let (emulator, _) = emulator().await;
    assert_eq!(
        ask(&emulator, "2030-01-01T00:00:00Z", "2030-01-08T00:00:00Z")
            .await
            .status(),
        200
    );
    for (start, expiry) in [
        ("2030-01-01T00:00:00Z", "2030-01-08T00:00:01Z"),
        ("2030-01-05T00:00:00Z", "2030-01-09T00:00:00Z"),
        ("2030-01-02T00:00:00Z", "2030-01-01T00:00:00Z"),
        ("2029-12-30T00:00:00Z", "2029-12-31T00:00:00Z"),
    ] {
        let response = ask(&emulator, start, expiry).await;
        assert_eq!(error(&response).1, "InvalidXmlNodeValue", "{start} {expiry}");
    }
    let wrong = bear(&emulator, "POST", KEY, &[], "<KeyInfo><Start>now</Start></KeyInfo>").await;
    assert_eq!(error(&wrong).1, "InvalidXmlDocument");
    let fresh = Emulator::new();
    for base in [BASE, SECURE] {
        let by_key = send_to(&fresh, base, "POST", KEY, &[], "").await;
        assert_eq!(error(&by_key).1, "AuthenticationFailed", "an account's key is no token");
    }
    let by_sas = try_with(&fresh, "POST", KEY, "", &token(ACCOUNT, &[])).await;
    assert_eq!(error(&by_sas).1, "AuthorizationFailure");
}
