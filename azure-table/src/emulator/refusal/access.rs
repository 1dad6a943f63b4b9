//! Refusals about who asks, from where and for what.
//!
//! Not confirmed: the headers of the mismatches of shared access signatures besides that of the permission, the texts of a
//! token that is not known and of a protocol that takes no token, and the answers to requests of browsers beyond their
//! statuses.
//!
//! Source: REST "SAS error codes", "Common REST API error codes", "Authorize with Microsoft Entra ID"; recorded refusals.

use super::{Challenge, FrontEnd, Parsing, Refusal, Store};

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
