//! Errors of the service, with its own texts.
//!
//! Each error has a status, a code, a text, and the part of the service that raises it. That part determines the
//! headers of the response, and the index in a batch. The body around them is in `response/error.rs`. Not confirmed:
//! the headers of the mismatches of shared access signatures other than the text about the permission, the text of a
//! protocol that accepts no token, and the responses to preflight requests beyond their statuses.
//!
//! Source: REST "Table service error codes", "Common REST API error codes", "SAS error codes", "Authorize with
//! Microsoft Entra ID". The texts come from live responses if one was seen, otherwise from these pages.

use std::borrow::Cow;

use azure_table_wire::filter::parse::ParseError;
use azure_table_wire::request::inbound::VerbFault;
use azure_table_wire::request::inbound::target::TargetFault;

pub(crate) type Result<T> = std::result::Result<T, ServiceError>;

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServiceError {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: Cow<'static, str>,
    pub(crate) raised_by: RaisedBy,
    /// The reason, for observers: details that the response omits. Never contains a key, a token or a part of a
    /// signature.
    pub(crate) why: Option<Cow<'static, str>>,
}

/// The part of the service that raises an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RaisedBy {
    /// Before the request is parsed: few headers, but `x-ms-error-code`.
    FrontEnd,
    /// For a missing credential: since 2020-12-06 with the URL of the token authority.
    Challenge,
    /// For a version that cannot be read: XML without `x-ms-error-code`.
    Version,
    /// While the request is parsed: no `Cache-Control`; in a batch the index precedes the text, including `0:`.
    Parsing,
    /// By the store: the index precedes the text in a batch of several operations.
    Store,
}

use RaisedBy::{Challenge, FrontEnd, Parsing, Store, Version};

/// The beginning of Cosmos DB's text about a wrong signature.
pub(crate) const WRONG_SIGNATURE: &str = "The input authorization token can't serve the request. Please check that the \
     expected payload is built as per the protocol, and check the key being used. ";

impl ServiceError {
    const fn new(status: u16, code: &'static str, message: &'static str, raised_by: RaisedBy) -> Self {
        Self {
            status,
            code,
            message: Cow::Borrowed(message),
            raised_by,
            why: None,
        }
    }

    fn with(status: u16, code: &'static str, message: String, raised_by: RaisedBy) -> Self {
        Self {
            status,
            code,
            message: Cow::Owned(message),
            raised_by,
            why: None,
        }
    }

    /// Adds the reason.
    pub(crate) fn because(self, why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            why: Some(why.into()),
            ..self
        }
    }

    /// Creates the emulator's own error: a change could not be stored, so all further requests fail.
    #[cfg(feature = "durable")]
    pub(crate) fn not_stored(why: &str) -> Self {
        let message = format!("The emulator stopped, since its folder could not be written: {why}. Restart it.");
        Self::with(500, "InternalError", message, Store)
    }

    /// Creates the error for a key with a forbidden character, or a date before 1601.
    pub(crate) fn out_of_range(property: &str, value: impl std::fmt::Display) -> Self {
        let message = format!("The '{property}' parameter of value '{value}' is out of range.");
        Self::with(400, "OutOfRangeInput", message, Parsing)
    }

    pub(crate) fn invalid_etag(etag: &str) -> Self {
        let message = format!(
            "The etag value '{etag}' specified in one of the request headers is not valid. Please make sure only one \
             etag value is specified and is valid."
        );
        Self::with(400, "InvalidInput", message, Parsing)
    }

    pub(crate) fn number_of_keys(account: &str, table: &str) -> Self {
        let message = format!(
            "The number of keys specified in the URI does not match number of key properties for the resource \
             '{account}.{table}'."
        );
        Self::with(400, "InvalidInput", message, Parsing)
    }

    /// Creates the error for a selection that begins with no name. Recorded of azure-data-tables (2020).
    pub(crate) fn no_identifier(at: usize) -> Self {
        let message = format!("An identifier was expected at position {at}.");
        Self::with(400, "InvalidInput", message, Parsing)
    }

    /// Creates the error for a character in a table's name. Recorded of Cosmos DB.
    pub(crate) fn character_of_table_name(character: char) -> Self {
        let message = format!("The table name contains an invalid character {character}.");
        Self::with(400, "InvalidInput", message, Parsing)
    }

    /// Creates the error for a property's name. Recorded of Cosmos DB.
    pub(crate) fn property_name(name: &str) -> Self {
        let message = format!(
            "The property name '{name}' is invalid. See \
             https://docs.microsoft.com/en-us/rest/api/storageservices/Understanding-the-Table-Service-Data-Model"
        );
        Self::with(400, "PropertyNameInvalid", message, Parsing)
    }

    /// Creates the error of Cosmos DB for a wrong signature. Recorded of azure-data-tables (2020 and 2021).
    pub(crate) fn wrong_signature(to_sign: &str) -> Self {
        let message = format!("{WRONG_SIGNATURE}Server used the following payload to sign: '{to_sign}'");
        Self::with(403, "Forbidden", message, Parsing)
    }

    /// Creates the error of Cosmos DB for a token with another audience. The text is not known completely.
    ///
    /// Source: azure-sdk-for-net issue 47332.
    pub(crate) fn other_audience(audience: &str, accepted: &str) -> Self {
        let message = format!(
            "Request blocked by Auth : Provided AAD token is intended for [{audience}]. This database account accepts \
             tokens intended for [{accepted}]"
        );
        Self::with(401, "Unauthorized", message, Challenge)
    }

    /// Returns all errors, of each code the most general one first.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        Self::OF_REQUESTS.iter().chain(Self::OF_CREDENTIALS)
    }

    pub(crate) fn source_ip_mismatch(address: std::net::IpAddr) -> Self {
        let message =
            format!("This request is not authorized to perform this operation using this source IP {address}.");
        Self::with(403, "AuthorizationSourceIPMismatch", message, Store)
    }
}

/// Defines a constant for each error: status and code, the part that raises it, the text. The first name is the list.
macro_rules! service_errors {
    ($all:ident: $($(#[$attribute:meta])* $name:ident = $status:literal $code:literal, $raised_by:ident, $text:literal;)+) => {
        impl ServiceError {
            $($(#[$attribute])* pub(crate) const $name: Self = Self::new($status, $code, $text, $raised_by);)+

            const $all: &[Self] = &[$(Self::$name),+];
        }
    };
}

service_errors! {
    OF_REQUESTS:
    NO_HOST = 400 "HostInformationNotPresent", FrontEnd,
        "The required host information is not present in the request. You must send a non-empty Host header or include the \
         absolute URI in the request line.";
    INVALID_URI = 400 "InvalidUri", FrontEnd,
        "The requested URI does not represent any resource on the server.";
    /// Seen for an unknown `x-ms-version`.
    INVALID_HEADER_VALUE = 400 "InvalidHeaderValue", FrontEnd,
        "The value for one of the HTTP headers is not in the correct format.";
    /// Recorded for `12.0.0b1` (2020).
    UNREADABLE_VERSION = 400 "InvalidHeaderValue", Version,
        "The value for one of the HTTP headers is not in the correct format.";
    BODY_TOO_LARGE = 413 "RequestBodyTooLarge", Parsing,
        "The request body is too large and exceeds the maximum permissible limit.";
    UNSUPPORTED_VERB = 405 "UnsupportedHttpVerb", Parsing,
        "The resource doesn't support specified Http Verb.";
    METHOD_NOT_ALLOWED = 405 "MethodNotAllowed", Parsing,
        "The requested method is not allowed on the specified resource.";
    /// Recorded for the service properties of Cosmos DB.
    NOT_SUPPORTED = 405 "MethodNotAllowed", Parsing,
        "The requested operation is not supported.";
    NOT_IMPLEMENTED = 501 "NotImplemented", Parsing,
        "The requested operation is not implemented on the specified resource.";
    /// Recorded with `Cache-Control`, unlike the one before.
    NO_TABLES_BELOW = 501 "NotImplemented", Store,
        "The requested operation is not implemented on the specified resource.";
    X_METHOD_NOT_USING_POST = 400 "XMethodNotUsingPost", Parsing,
        "The request uses X-HTTP-Method with an HTTP verb other than POST.";
    X_METHOD_INCORRECT_COUNT = 400 "XMethodIncorrectCount", Parsing,
        "More than one X-HTTP-Method is specified.";
    X_METHOD_INCORRECT_VALUE = 400 "XMethodIncorrectValue", Parsing,
        "The specified X-HTTP-Method is invalid.";
    ATOM_FORMAT_NOT_SUPPORTED = 415 "AtomFormatNotSupported", Parsing,
        "Atom format is not supported.";
    JSON_VERBOSE_FORMAT_NOT_SUPPORTED = 415 "JsonVerboseFormatNotSupported", Parsing,
        "JSON Verbose format is not supported.";
    MEDIA_TYPE_NOT_SUPPORTED = 415 "MediaTypeNotSupported", Parsing,
        "None of the provided media types are supported";
    INVALID_INPUT = 400 "InvalidInput", Parsing,
        "One of the request inputs is not valid.";
    /// Cosmos DB for an invalid query.
    INVALID_URL = 400 "InvalidInput", Parsing,
        "Request url is invalid.";
    /// Cosmos DB for a URL in which a table's name has a slash. Unlike the error for a query it never repeats the
    /// metadata level of the request.
    INVALID_ADDRESS = 400 "InvalidInput", FrontEnd,
        "Request url is invalid.";
    /// The same for a URL that names an entity. Recorded.
    INVALID_ENTITY_ADDRESS = 400 "InvalidInput", FrontEnd,
        "One of the input values is invalid.";
    /// Cosmos DB for a delete of a table whose name has a character of URLs. Recorded.
    NO_SUCH_HANDLER = 405 "MethodNotAllowed", Parsing,
        "RequestHandler.Delete";
    TABLE_NAME_ENDS_WITH_SPACE = 400 "InvalidInput", Parsing,
        "Table name cannot end with a space.";
    /// Recorded with 255 characters.
    TABLE_NAME_TOO_LONG = 400 "BadRequest", Parsing,
        "Message: {\"Errors\":[\"The input name is invalid. Ensure to provide a unique non-empty string less than '255' \
         characters.\",\"The request payload is invalid. Ensure to provide a valid request payload.\"]}";
    /// A value that does not fit its type: seen for numbers out of range, assumed for everything else in a body.
    UNREADABLE_VALUE = 400 "InvalidInput", Parsing,
        "An error occurred while processing this request.";
    BOTH_CONDITIONS = 400 "InvalidInput", Parsing,
        "Both If-Match and If-None-Match HTTP headers cannot be specified at the same time. Please specify either one of the \
         headers or none of them.";
    IF_NONE_MATCH_ON_PUT = 400 "InvalidInput", Parsing,
        "If-None-Match HTTP header cannot be specified for PUT operations.";
    IF_NONE_MATCH_ON_DELETE = 400 "InvalidInput", Parsing,
        "If-None-Match HTTP header cannot be specified for DELETE operations.";
    TOO_MANY_CHANGES = 400 "InvalidInput", Store,
        "The batch request operation exceeds the maximum 100 changes per change set.";
    /// Cosmos DB for a change set without operations. Recorded of azure-data-tables, `empty_batch` (2023).
    EMPTY_BATCH = 400 "InvalidInput", Parsing,
        "The batch request body is malformed. Please see \
         https://docs.microsoft.com/en-us/rest/api/storageservices/performing-entity-group-transactions";
    DIFFERENT_PARTITIONS = 400 "CommandsInBatchActOnDifferentPartitions", Store,
        "All commands in a batch must operate on same entity group.";
    /// Cosmos DB for two partitions in a batch, always with the index 0. The trace at its end is not known.
    OTHER_PARTITION = 400 "BadRequest", Store,
        "Message: {\"Errors\":[\"Encountered exception while executing function. Exception = Error: OperationCount:0.\\n\
         {\\\"message\\\":\\\"{\\\\\\\"Errors\\\\\\\":[\\\\\\\"Requests originating from scripts cannot reference partition keys other \
         than the one for which client request was submitted.\\\\\\\"]}\\\",\\\"number\\\":412}\\r\\nStack trace: \"]}";
    DUPLICATE_ROW = 400 "InvalidDuplicateRow", Store,
        "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.";
    PROPERTIES_NEED_VALUE = 400 "PropertiesNeedValue", Store,
        "The values are not specified for all properties in the entity.";
    DUPLICATE_PROPERTIES = 400 "DuplicatePropertiesSpecified", Parsing,
        "A property is specified more than one time.";
    DUPLICATE_KEY_PROPERTY = 400 "DuplicateKeyPropertySpecified", Parsing,
        "A key property is specified more than one time.";
    PROPERTY_NAME_INVALID = 400 "PropertyNameInvalid", Parsing,
        "The property name is invalid.";
    PROPERTY_NAME_TOO_LONG = 400 "PropertyNameTooLong", Store,
        "The property name exceeds the maximum allowed length (255).";
    PROPERTY_VALUE_TOO_LARGE = 400 "PropertyValueTooLarge", Store,
        "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded \
         and the maximum number of characters should be 32K or less.";
    TOO_MANY_PROPERTIES = 400 "TooManyProperties", Store,
        "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each \
         entity also has 3 system properties.";
    ENTITY_TOO_LARGE = 400 "EntityTooLarge", Store,
        "The entity is larger than the maximum allowed size (1MB).";
    ENTITY_ALREADY_EXISTS = 409 "EntityAlreadyExists", Store,
        "The specified entity already exists.";
    RESOURCE_NOT_FOUND = 404 "ResourceNotFound", Store,
        "The specified resource does not exist.";
    CONDITION_NOT_SATISFIED = 412 "UpdateConditionNotSatisfied", Store,
        "The update condition specified in the request was not satisfied.";
    /// Recorded for an ETag with doubled quotes.
    CONDITION_NOT_MET = 412 "ConditionNotMet", Parsing,
        "The condition specified using HTTP conditional header(s) is not met.";
    TABLE_NOT_FOUND = 404 "TableNotFound", Parsing,
        "The table specified does not exist.";
    TABLE_ALREADY_EXISTS = 409 "TableAlreadyExists", Store,
        "The table specified already exists.";
    TABLE_BEING_DELETED = 409 "TableBeingDeleted", Store,
        "The specified table is being deleted. Try operation later.";
    /// Seen of Create Table after 30 s.
    OPERATION_TIMED_OUT = 500 "OperationTimedOut", Store,
        "Operation could not be completed within the specified time.";
    /// Only injected.
    INTERNAL_ERROR = 500 "InternalError", Store,
        "The server encountered an internal error. Please retry the request.";
    SERVER_BUSY = 503 "ServerBusy", Store,
        "The server is currently unable to receive requests. Please retry your request.";
    ACCOUNT_BUSY = 503 "ServerBusy", Store,
        "Operations per second is over the account limit.";
    /// Exceeded capacity. Cosmos DB counts request units; here a model counts entities. Recorded with the code and
    /// without a time to wait (Python, 2021); the code was `429` in September 2020.
    ///
    /// Source: azure-sdk-for-net issues 13554 and 26960.
    TOO_MANY_REQUESTS = 429 "TooManyRequests", Store,
        "Message: {\"Errors\":[\"Request rate is large. More Request Units may be needed, so no changes were made. Please \
         retry this request later. Learn more: http://aka.ms/cosmosdb-error-429\"]}";
    /// Recorded for a URL that ends in a table's name and requests the service's properties.
    INVALID_QUERY_PARAMETER = 400 "InvalidQueryParameterValue", FrontEnd,
        "Value for one of the query parameters specified in the request URI is invalid.";
    /// The same with the headers of the service (recorded of Go, 2021).
    STATISTICS_OF_PRIMARY = 400 "InvalidQueryParameterValue", Store,
        "Value for one of the query parameters specified in the request URI is invalid.";
    /// Recorded also for documents beyond a limit, for example six rules for browsers.
    INVALID_XML = 400 "InvalidXmlDocument", Parsing,
        "XML specified is not syntactically valid.";
    INVALID_XML_NODE = 400 "InvalidXmlNodeValue", Parsing,
        "The value provided for one of the XML nodes in the request body was not in the correct format.";
    /// The spelling is the service's.
    INVALID_TABLE_NAME = 400 "InvalidResourceName", Store,
        "The specifed resource name contains invalid characters.";
    TABLE_NAME_LENGTH = 400 "OutOfRangeInput", Store,
        "The specified resource name length is not within the permissible limits.";
}

// Errors of a credential: its form, its place or its permissions.
service_errors! {
    OF_CREDENTIALS:
    AUTHENTICATION_FAILED = 403 "AuthenticationFailed", FrontEnd,
        "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including \
         the signature.";
    /// An operation that no shared access signature permits, or a row outside of its range (both seen live).
    AUTHORIZATION_FAILURE = 403 "AuthorizationFailure", Store,
        "This request is not authorized to perform this operation.";
    /// Recorded, with the headers of the store's errors. That the four below have the same headers is not confirmed;
    /// their texts come from REST "SAS error codes".
    PERMISSION_MISMATCH = 403 "AuthorizationPermissionMismatch", Store,
        "This request is not authorized to perform this operation using this permission.";
    RESOURCE_TYPE_MISMATCH = 403 "AuthorizationResourceTypeMismatch", Store,
        "This request is not authorized to perform this operation using this resource type.";
    SERVICE_MISMATCH = 403 "AuthorizationServiceMismatch", Store,
        "This request is not authorized to perform this operation using this service.";
    PROTOCOL_MISMATCH = 403 "AuthorizationProtocolMismatch", Store,
        "This request is not authorized to perform this operation using this protocol.";
    /// Cosmos DB for a signature with a range of rows, whether the row is in it or not. Recorded (since May 2022; 501
    /// until December 2021).
    NO_RANGES = 405 "MethodNotAllowed", Store,
        "Shared access signature with PartitionKey or RowKey are not supported";
    /// Recorded of azure-data-tables, `table_client_location_mode` (2024).
    WRITE_TO_SECONDARY = 403 "InsufficientAccountPermissions", Store,
        "Write operations are not allowed.";
    /// Recorded.
    NO_AUTHENTICATION = 401 "NoAuthenticationInformation", Challenge,
        "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    /// Before 2020-12-06. Recorded of a batch and of a table's deletion; for others inferred.
    ///
    /// Source: azure-sdk-for-js issue 10973; recordings of 2017 and 2021.
    NO_AUTHORIZATION = 404 "ResourceNotFound", Challenge,
        "The specified resource does not exist.";
    /// Recorded of a token of another tenant (azure-data-tables, `supported_version`, 2022, and `error_handling`,
    /// 2026).
    INVALID_TOKEN = 401 "InvalidAuthenticationInfo", FrontEnd,
        "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    /// Recorded of a token with spaces (azure-data-tables, `list_tables_with_invalid_credential`, 2024).
    MALFORMED_AUTHORIZATION = 400 "InvalidAuthenticationInfo", FrontEnd,
        "Authentication information is not given in the correct format. Check the value of Authorization header.";
    /// The status is documented; code and text are Azurite's.
    NO_CORS_HEADER = 400 "InvalidHeaderValue", Parsing,
        "A required CORS header is not present.";
    /// The status is documented, the text was seen of blobs; the code is Azurite's.
    NO_CORS_RULE = 403 "CorsPreflightFailure", Parsing,
        "CORS not enabled or no matching rule found for this request.";
}

impl From<ParseError> for ServiceError {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Unsupported => Self::NOT_IMPLEMENTED,
            ParseError::Invalid => Self::INVALID_INPUT,
            error => Self::with(400, "InvalidInput", error.to_string(), Parsing),
        }
    }
}
impl From<VerbFault> for ServiceError {
    fn from(fault: VerbFault) -> Self {
        match fault {
            VerbFault::Unknown => Self::UNSUPPORTED_VERB,
            VerbFault::UnknownTunnelled => Self::X_METHOD_INCORRECT_VALUE,
            VerbFault::NotInPost => Self::X_METHOD_NOT_USING_POST,
            VerbFault::SeveralTunnelled => Self::X_METHOD_INCORRECT_COUNT,
        }
    }
}

impl From<TargetFault> for ServiceError {
    fn from(fault: TargetFault) -> Self {
        match fault {
            TargetFault::Path => Self::INVALID_URI,
            TargetFault::Keys => Self::INVALID_INPUT,
            TargetFault::Segments { is_entity: true } => Self::INVALID_ENTITY_ADDRESS,
            TargetFault::Segments { is_entity: false } => Self::INVALID_ADDRESS,
            TargetFault::Component => Self::INVALID_QUERY_PARAMETER,
        }
    }
}
