//! Refusals: the errors of the service, in its own words.
//!
//! Owns status, code and text of each, and the part of the service that raises it: that decides on headers and on the index in a
//! batch. Does not own the body around them (`response/error.rs`).
//! Not confirmed: the headers of the mismatches of shared access signatures besides that of the permission, the texts of a
//! token that is not known and of a protocol that takes no token, and the answers to requests of browsers beyond their
//! statuses.
//!
//! Source: REST "Table service error codes", "Common REST API error codes", "SAS error codes", "Authorize with Microsoft Entra ID";
//! the texts are those of live answers where one was seen, else of these pages.

use std::borrow::Cow;

use crate::filter::parse::ParseError;

pub(crate) type Result<T> = std::result::Result<T, Refusal>;

/// An answer that is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: Cow<'static, str>,
    pub(crate) raised_by: RaisedBy,
    /// What the answer does not say and whoever observes wants to know. Never a key, a token or a part of a signature.
    pub(crate) why: Option<Cow<'static, str>>,
}

/// Which part of the service raises a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RaisedBy {
    /// Before the request is understood: few headers, but `x-ms-error-code`.
    FrontEnd,
    /// By whoever asks for a token: with the address where to get one.
    Challenge,
    /// While the request is read: no `Cache-Control`; in a batch the index stands before the text, `0:` too.
    Parsing,
    /// By the store: in a batch the index stands before the text, except at the first operation.
    Store,
}

use RaisedBy::{Challenge, FrontEnd, Parsing, Store};

impl Refusal {
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

    /// The same, and why.
    pub(crate) fn because(self, why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            why: Some(why.into()),
            ..self
        }
    }

    pub(crate) const NO_HOST: Self = Self::new(
        400,
        "HostInformationNotPresent",
        "The required host information is not present in the request. You must send a non-empty Host header or \
         include the absolute URI in the request line.",
        FrontEnd,
    );
    pub(crate) const INVALID_URI: Self = Self::new(
        400,
        "InvalidUri",
        "The requested URI does not represent any resource on the server.",
        FrontEnd,
    );
    /// Seen for an unknown `x-ms-version`.
    pub(crate) const INVALID_HEADER_VALUE: Self = Self::new(
        400,
        "InvalidHeaderValue",
        "The value for one of the HTTP headers is not in the correct format.",
        FrontEnd,
    );
    pub(crate) const BODY_TOO_LARGE: Self = Self::new(
        413,
        "RequestBodyTooLarge",
        "The request body is too large and exceeds the maximum permissible limit.",
        Parsing,
    );
    pub(crate) const UNSUPPORTED_VERB: Self = Self::new(
        405,
        "UnsupportedHttpVerb",
        "The resource doesn't support specified Http Verb.",
        Parsing,
    );
    pub(crate) const METHOD_NOT_ALLOWED: Self = Self::new(
        405,
        "MethodNotAllowed",
        "The requested method is not allowed on the specified resource.",
        Parsing,
    );
    /// Recorded of the properties of Cosmos DB.
    pub(crate) const NOT_SUPPORTED: Self = Self::new(
        405,
        "MethodNotAllowed",
        "The requested operation is not supported.",
        Parsing,
    );
    pub(crate) const NOT_IMPLEMENTED: Self = Self::new(
        501,
        "NotImplemented",
        "The requested operation is not implemented on the specified resource.",
        Parsing,
    );
    pub(crate) const X_METHOD_NOT_USING_POST: Self = Self::new(
        400,
        "XMethodNotUsingPost",
        "The request uses X-HTTP-Method with an HTTP verb other than POST.",
        Parsing,
    );
    pub(crate) const X_METHOD_INCORRECT_COUNT: Self = Self::new(
        400,
        "XMethodIncorrectCount",
        "More than one X-HTTP-Method is specified.",
        Parsing,
    );
    pub(crate) const X_METHOD_INCORRECT_VALUE: Self = Self::new(
        400,
        "XMethodIncorrectValue",
        "The specified X-HTTP-Method is invalid.",
        Parsing,
    );
    pub(crate) const ATOM_FORMAT_NOT_SUPPORTED: Self =
        Self::new(415, "AtomFormatNotSupported", "Atom format is not supported.", Parsing);
    pub(crate) const JSON_VERBOSE_FORMAT_NOT_SUPPORTED: Self = Self::new(
        415,
        "JsonVerboseFormatNotSupported",
        "JSON Verbose format is not supported.",
        Parsing,
    );
    pub(crate) const MEDIA_TYPE_NOT_SUPPORTED: Self = Self::new(
        415,
        "MediaTypeNotSupported",
        "None of the provided media types are supported",
        Parsing,
    );

    pub(crate) const INVALID_INPUT: Self =
        Self::new(400, "InvalidInput", "One of the request inputs is not valid.", Parsing);
    /// Cosmos DB of a query that it cannot read.
    pub(crate) const INVALID_URL: Self = Self::new(400, "InvalidInput", "Request url is invalid.", Parsing);
    /// A value that is not one of its type: seen for numbers out of range, assumed for all else in a body.
    pub(crate) const UNREADABLE_VALUE: Self = Self::new(
        400,
        "InvalidInput",
        "An error occurred while processing this request.",
        Parsing,
    );
    pub(crate) const BOTH_CONDITIONS: Self = Self::new(
        400,
        "InvalidInput",
        "Both If-Match and If-None-Match HTTP headers cannot be specified at the same time. Please specify either one \
         of the headers or none of them.",
        Parsing,
    );
    pub(crate) const IF_NONE_MATCH_ON_PUT: Self = Self::new(
        400,
        "InvalidInput",
        "If-None-Match HTTP header cannot be specified for PUT operations.",
        Parsing,
    );
    pub(crate) const IF_NONE_MATCH_ON_DELETE: Self = Self::new(
        400,
        "InvalidInput",
        "If-None-Match HTTP header cannot be specified for DELETE operations.",
        Parsing,
    );
    pub(crate) const TOO_MANY_CHANGES: Self = Self::new(
        400,
        "InvalidInput",
        "The batch request operation exceeds the maximum 100 changes per change set.",
        Parsing,
    );
    pub(crate) const DIFFERENT_PARTITIONS: Self = Self::new(
        400,
        "CommandsInBatchActOnDifferentPartitions",
        "All commands in a batch must operate on same entity group.",
        Parsing,
    );
    pub(crate) const DUPLICATE_ROW: Self = Self::new(
        400,
        "InvalidDuplicateRow",
        "The batch request contains multiple changes with same row key. An entity can appear only once in a batch \
         request.",
        Parsing,
    );

    pub(crate) const PROPERTIES_NEED_VALUE: Self = Self::new(
        400,
        "PropertiesNeedValue",
        "The values are not specified for all properties in the entity.",
        Store,
    );
    pub(crate) const DUPLICATE_PROPERTIES: Self = Self::new(
        400,
        "DuplicatePropertiesSpecified",
        "A property is specified more than one time.",
        Parsing,
    );
    pub(crate) const DUPLICATE_KEY_PROPERTY: Self = Self::new(
        400,
        "DuplicateKeyPropertySpecified",
        "A key property is specified more than one time.",
        Parsing,
    );
    pub(crate) const PROPERTY_NAME_INVALID: Self =
        Self::new(400, "PropertyNameInvalid", "The property name is invalid.", Parsing);
    pub(crate) const PROPERTY_NAME_TOO_LONG: Self = Self::new(
        400,
        "PropertyNameTooLong",
        "The property name exceeds the maximum allowed length (255).",
        Store,
    );
    pub(crate) const PROPERTY_VALUE_TOO_LARGE: Self = Self::new(
        400,
        "PropertyValueTooLarge",
        "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 \
         encoded and the maximum number of characters should be 32K or less.",
        Store,
    );
    pub(crate) const TOO_MANY_PROPERTIES: Self = Self::new(
        400,
        "TooManyProperties",
        "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. \
         Each entity also has 3 system properties.",
        Store,
    );
    pub(crate) const ENTITY_TOO_LARGE: Self = Self::new(
        400,
        "EntityTooLarge",
        "The entity is larger than the maximum allowed size (1MB).",
        Store,
    );
    pub(crate) const ENTITY_ALREADY_EXISTS: Self = Self::new(
        409,
        "EntityAlreadyExists",
        "The specified entity already exists.",
        Store,
    );
    pub(crate) const RESOURCE_NOT_FOUND: Self =
        Self::new(404, "ResourceNotFound", "The specified resource does not exist.", Store);
    pub(crate) const CONDITION_NOT_SATISFIED: Self = Self::new(
        412,
        "UpdateConditionNotSatisfied",
        "The update condition specified in the request was not satisfied.",
        Store,
    );
    pub(crate) const TABLE_NOT_FOUND: Self =
        Self::new(404, "TableNotFound", "The table specified does not exist.", Parsing);
    pub(crate) const TABLE_ALREADY_EXISTS: Self =
        Self::new(409, "TableAlreadyExists", "The table specified already exists.", Store);
    pub(crate) const TABLE_BEING_DELETED: Self = Self::new(
        409,
        "TableBeingDeleted",
        "The specified table is being deleted. Try operation later.",
        Store,
    );
    pub(crate) const SERVER_BUSY: Self = Self::new(
        503,
        "ServerBusy",
        "The server is currently unable to receive requests. Please retry your request.",
        Store,
    );
    pub(crate) const ACCOUNT_BUSY: Self = Self::new(
        503,
        "ServerBusy",
        "Operations per second is over the account limit.",
        Store,
    );
    /// No room for the request. Cosmos DB counts request units; here a model counts entities.
    ///
    /// Source: azure-sdk-for-net issue 26960.
    pub(crate) const TOO_MANY_REQUESTS: Self = Self::new(
        429,
        "TooManyRequests",
        "Request rate is large. More Request Units may be needed, so no changes were made. Please retry this request \
         later. Learn more: http://aka.ms/cosmosdb-error-429",
        Store,
    );
    pub(crate) const INVALID_QUERY_PARAMETER: Self = Self::new(
        400,
        "InvalidQueryParameterValue",
        "Value for one of the query parameters specified in the request URI is invalid.",
        Parsing,
    );
    /// Recorded for documents beyond a limit too, six rules for browsers for example.
    pub(crate) const INVALID_XML: Self = Self::new(
        400,
        "InvalidXmlDocument",
        "XML specified is not syntactically valid.",
        Parsing,
    );
    pub(crate) const INVALID_XML_NODE: Self = Self::new(
        400,
        "InvalidXmlNodeValue",
        "The value provided for one of the XML nodes in the request body was not in the correct format.",
        Parsing,
    );
    /// The spelling is the service's.
    pub(crate) const INVALID_TABLE_NAME: Self = Self::new(
        400,
        "InvalidResourceName",
        "The specifed resource name contains invalid characters.",
        Store,
    );
    pub(crate) const TABLE_NAME_LENGTH: Self = Self::new(
        400,
        "OutOfRangeInput",
        "The specified resource name length is not within the permissible limits.",
        Store,
    );

    /// A key with a forbidden character, or a date before 1601.
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
}

impl From<ParseError> for Refusal {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Unsupported => Self::NOT_IMPLEMENTED,
            ParseError::Invalid => Self::INVALID_INPUT,
            ParseError::Literal { .. } => Self::with(400, "InvalidInput", error.to_string(), Parsing),
        }
    }
}

/// Refusals of a credential: for its form, its place or its rights.
impl Refusal {
    pub(crate) const AUTHENTICATION_FAILED: Self = Self::new(
        403,
        "AuthenticationFailed",
        "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly \
         including the signature.",
        FrontEnd,
    );
    /// Something that no shared access signature allows, or a row outside of one's range (both seen live).
    pub(crate) const AUTHORIZATION_FAILURE: Self = Self::new(
        403,
        "AuthorizationFailure",
        "This request is not authorized to perform this operation.",
        Store,
    );
    /// Recorded, with the headers of the store's refusals. That the four below have the same headers is not confirmed;
    /// their texts are those of REST "SAS error codes".
    pub(crate) const PERMISSION_MISMATCH: Self = Self::new(
        403,
        "AuthorizationPermissionMismatch",
        "This request is not authorized to perform this operation using this permission.",
        Store,
    );
    pub(crate) const RESOURCE_TYPE_MISMATCH: Self = Self::new(
        403,
        "AuthorizationResourceTypeMismatch",
        "This request is not authorized to perform this operation using this resource type.",
        Store,
    );
    pub(crate) const SERVICE_MISMATCH: Self = Self::new(
        403,
        "AuthorizationServiceMismatch",
        "This request is not authorized to perform this operation using this service.",
        Store,
    );
    pub(crate) const PROTOCOL_MISMATCH: Self = Self::new(
        403,
        "AuthorizationProtocolMismatch",
        "This request is not authorized to perform this operation using this protocol.",
        Store,
    );
    /// The text is documented; that a write to a secondary gets it is not confirmed.
    pub(crate) const WRITE_TO_SECONDARY: Self = Self::new(
        403,
        "InsufficientAccountPermissions",
        "Write operations are not allowed.",
        FrontEnd,
    );
    /// Recorded.
    pub(crate) const NO_AUTHENTICATION: Self = Self::new(
        401,
        "NoAuthenticationInformation",
        "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.",
        Challenge,
    );
    /// The text is that of a missing token.
    pub(crate) const INVALID_TOKEN: Self = Self::new(
        401,
        "InvalidAuthenticationInfo",
        "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.",
        Challenge,
    );
    /// The status is documented; code and text are Azurite's.
    pub(crate) const NO_CORS_HEADER: Self = Self::new(
        400,
        "InvalidHeaderValue",
        "A required CORS header is not present.",
        Parsing,
    );
    /// The status is documented, the text was seen of blobs; the code is Azurite's.
    pub(crate) const NO_CORS_RULE: Self = Self::new(
        403,
        "CorsPreflightFailure",
        "CORS not enabled or no matching rule found for this request.",
        Parsing,
    );

    pub(crate) fn source_ip_mismatch(address: std::net::IpAddr) -> Self {
        let message =
            format!("This request is not authorized to perform this operation using this source IP {address}.");
        Self::with(403, "AuthorizationSourceIPMismatch", message, Store)
    }
}
