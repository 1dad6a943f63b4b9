//! The error codes of the services, as constants.

/// The error codes of the Table service and of Cosmos DB, to compare with [`Error::code`](super::Error::code).
///
/// Prefer [`Error::kind`](super::Error::kind) where it is enough: it covers both services. These codes are documented
/// for tables, or were recorded. The service may send others.
///
/// ```
/// use azure_table::{Error, ErrorCode};
/// fn advice(error: &Error) -> &str {
///     match error.code() {
///         Some(ErrorCode::TOO_MANY_PROPERTIES) => "divide the entity",
///         Some(ErrorCode::TABLE_BEING_DELETED) => "wait, or use another name",
///         _ => "report it",
///     }
/// }
/// assert_eq!(advice(&Error::invalid_input("x")), "report it");
/// ```
///
/// Source: REST "Table service error codes", "Common REST API error codes"; recordings of both services.
#[doc(alias("TableErrorCode", "StorageErrorCodeStrings"))]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ErrorCode {}

macro_rules! codes {
    ($($constant:ident = $code:literal, $status:literal;)+) => {
        impl ErrorCode {
            $(
                #[doc = concat!("`", $code, "`, status ", $status, ".")]
                pub const $constant: &'static str = $code;
            )+
        }
    };
}

codes! {
    ACCOUNT_IS_DISABLED = "AccountIsDisabled", "403";
    AUTHENTICATION_FAILED = "AuthenticationFailed", "403";
    AUTHORIZATION_FAILURE = "AuthorizationFailure", "403";
    AUTHORIZATION_PERMISSION_MISMATCH = "AuthorizationPermissionMismatch", "403";
    AUTHORIZATION_PROTOCOL_MISMATCH = "AuthorizationProtocolMismatch", "403";
    AUTHORIZATION_RESOURCE_TYPE_MISMATCH = "AuthorizationResourceTypeMismatch", "403";
    AUTHORIZATION_SERVICE_MISMATCH = "AuthorizationServiceMismatch", "403";
    AUTHORIZATION_SOURCE_IP_MISMATCH = "AuthorizationSourceIPMismatch", "403";
    COMMANDS_IN_BATCH_ACT_ON_DIFFERENT_PARTITIONS = "CommandsInBatchActOnDifferentPartitions", "400";
    DUPLICATE_PROPERTIES_SPECIFIED = "DuplicatePropertiesSpecified", "400";
    ENTITY_ALREADY_EXISTS = "EntityAlreadyExists", "409";
    ENTITY_NOT_FOUND = "EntityNotFound", "404";
    ENTITY_TOO_LARGE = "EntityTooLarge", "400";
    FORBIDDEN = "Forbidden", "403 of Cosmos DB";
    INSUFFICIENT_ACCOUNT_PERMISSIONS = "InsufficientAccountPermissions", "403";
    INTERNAL_ERROR = "InternalError", "500";
    INVALID_AUTHENTICATION_INFO = "InvalidAuthenticationInfo", "400 or 401";
    INVALID_DUPLICATE_ROW = "InvalidDuplicateRow", "400";
    INVALID_HEADER_VALUE = "InvalidHeaderValue", "400";
    INVALID_INPUT = "InvalidInput", "400";
    INVALID_RESOURCE_NAME = "InvalidResourceName", "400";
    METHOD_NOT_ALLOWED = "MethodNotAllowed", "405";
    NO_AUTHENTICATION_INFORMATION = "NoAuthenticationInformation", "401";
    NOT_IMPLEMENTED = "NotImplemented", "501";
    OPERATION_TIMED_OUT = "OperationTimedOut", "500";
    OUT_OF_RANGE_INPUT = "OutOfRangeInput", "400";
    PROPERTIES_NEED_VALUE = "PropertiesNeedValue", "400";
    PROPERTY_NAME_INVALID = "PropertyNameInvalid", "400";
    PROPERTY_NAME_TOO_LONG = "PropertyNameTooLong", "400";
    PROPERTY_VALUE_TOO_LARGE = "PropertyValueTooLarge", "400";
    REQUEST_BODY_TOO_LARGE = "RequestBodyTooLarge", "413";
    RESOURCE_ALREADY_EXISTS = "ResourceAlreadyExists", "409";
    RESOURCE_NOT_FOUND = "ResourceNotFound", "404";
    SERVER_BUSY = "ServerBusy", "503";
    TABLE_ALREADY_EXISTS = "TableAlreadyExists", "409";
    TABLE_BEING_DELETED = "TableBeingDeleted", "409";
    TABLE_NOT_FOUND = "TableNotFound", "404";
    TOO_MANY_PROPERTIES = "TooManyProperties", "400";
    TOO_MANY_REQUESTS = "TooManyRequests", "429 of Cosmos DB";
    UNAUTHORIZED = "Unauthorized", "401 of Cosmos DB";
    UPDATE_CONDITION_NOT_SATISFIED = "UpdateConditionNotSatisfied", "412";
}

#[cfg(test)]
mod tests {
    #[test]
    fn constant_has_the_name_of_its_code() {
        let source = include_str!("error_code.rs").split("#[cfg(test)]").next().unwrap();
        let codes: Vec<_> = source.lines().filter_map(|line| line.split_once(" = \"")).collect();
        assert!(codes.len() > 40, "{codes:?}");
        for (constant, rest) in codes {
            let (code, _) = rest.split_once('"').unwrap();
            assert_eq!(constant.trim().replace('_', ""), code.to_uppercase());
        }
    }
}
