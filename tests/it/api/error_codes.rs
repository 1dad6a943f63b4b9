//! The constants of `ErrorCode` are the codes that errors have.

use azure_table::{DynamicEntity, ETag, Emulator, ErrorCode, NoRetry, TableServiceClient};
use azure_table_tests::canned::{Canned, Step};

#[tokio::test]
async fn rejected_calls_have_the_documented_codes() {
    for (emulator, without_table) in [
        (Emulator::new(), ErrorCode::TABLE_NOT_FOUND),
        (Emulator::cosmos(), ErrorCode::RESOURCE_NOT_FOUND),
    ] {
        let service = TableServiceClient::from_transport(emulator);
        let (table, row) = (service.dynamic_table("Things").unwrap(), DynamicEntity::new("p", "r"));
        let stale = ETag::from(Box::from("W/\"datetime'2000-01-01T00%3A00%3A00.0000000Z'\""));
        let absent = table.insert(&row).await.unwrap_err();
        table.create_table().await.unwrap();
        let missing = table.replace(&row).unconditionally().await.unwrap_err();
        table.insert(&row).await.unwrap();
        for (error, code) in [
            (absent, without_table),
            (missing, ErrorCode::RESOURCE_NOT_FOUND),
            (table.insert(&row).await.unwrap_err(), ErrorCode::ENTITY_ALREADY_EXISTS),
            (table.create_table().await.unwrap_err(), ErrorCode::TABLE_ALREADY_EXISTS),
            (
                table.replace(&row).if_match(stale).await.unwrap_err(),
                ErrorCode::UPDATE_CONDITION_NOT_SATISFIED,
            ),
        ] {
            assert_eq!(error.code(), Some(code), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn code_of_a_response_is_compared_with_a_constant() {
    for (status, code) in [
        (400, ErrorCode::TOO_MANY_PROPERTIES),
        (403, ErrorCode::AUTHENTICATION_FAILED),
        (409, ErrorCode::TABLE_BEING_DELETED),
        (429, ErrorCode::TOO_MANY_REQUESTS),
        (503, ErrorCode::SERVER_BUSY),
    ] {
        let body = format!(r#"{{"odata.error":{{"code":"{code}","message":{{"value":"x"}}}}}}"#);
        let service = Canned::new([Step::response(status, &[], &body)])
            .service()
            .retry(NoRetry);
        let table = service.dynamic_table("Things").unwrap();
        let error = table.get(("p", "r")).await.unwrap_err();
        assert_eq!((error.status(), error.code()), (Some(status), Some(code)));
    }
}
