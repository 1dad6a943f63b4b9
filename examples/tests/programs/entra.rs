//! Tokens of Entra ID.

use crate::output;

#[test]
fn one_token_serves_all_calls_and_the_way_to_an_account_is_shown() {
    let text = output("entra");
    for part in [
        "a token for https://storage.azure.com/.default is fetched",
        "5 calls, 3 rows, 1 token fetched",
        "Over HTTP no token is sent",
        "az role assignment create",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(text.matches("is fetched").count(), 1, "{text}");
}
