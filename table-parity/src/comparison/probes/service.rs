//! Probes of the service as a whole: properties, statistics, policies and CORS.

use crate::comparison::probe::{Line, Needs, Probe};
use crate::fact::On;
use crate::step::{Auth, Body, delete, get, insert, send, table};

const XML: &[(&str, &str)] = &[("Accept", "application/xml")];
const PROPERTIES: &str = "?restype=service&comp=properties";

pub(super) const PROBES: &[Probe] = &[
    Probe::of(
        Line(
            "a preflight without its headers or a rule",
            "400 `InvalidHeaderValue`, 403 `CorsPreflightFailure` (the status of both is documented), as JSON",
        ),
        &[
            send("OPTIONS", "<T>", Body::Empty).auth(Auth::None),
            send("OPTIONS", "<T>", Body::Empty)
                .headers(&[("Origin", "https://nobody.invalid")])
                .auth(Auth::None),
            send("OPTIONS", "<T>", Body::Empty)
                .headers(&[
                    ("Origin", "https://nobody.invalid"),
                    ("Access-Control-Request-Method", "GET"),
                ])
                .auth(Auth::None),
        ],
    )
    .on(On::Storage),
    Probe::of(
        Line(
            "two policies of one name, properties that are well-formed and impossible",
            "400 `InvalidXmlDocument`",
        ),
        &[
            table(r#"{"TableName":"<N>"}"#).setup(),
            send(
                "PUT",
                "<N>?comp=acl",
                Body::Xml(
                    "<?xml version=\"1.0\" encoding=\"utf-8\"?><SignedIdentifiers>\
                     <SignedIdentifier><Id>p</Id><AccessPolicy><Permission>r</Permission></AccessPolicy>\
                     </SignedIdentifier>\
                     <SignedIdentifier><Id>p</Id><AccessPolicy><Permission>a</Permission></AccessPolicy>\
                     </SignedIdentifier>\
                     </SignedIdentifiers>",
                ),
            )
            .headers(XML),
            delete("Tables('<N>')").setup(),
        ],
    )
    .on(On::Storage)
    .needs(Needs::Key),
    Probe::of(
        Line(
            "two policies of one name, properties that are well-formed and impossible",
            "400 `InvalidXmlDocument`",
        ),
        &[send(
            "PUT",
            PROPERTIES,
            Body::Xml(
                "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><HourMetrics>\
                     <Version>1.0</Version><Enabled>false</Enabled><IncludeAPIs>true</IncludeAPIs>\
                     <RetentionPolicy><Enabled>true</Enabled><Days>0</Days></RetentionPolicy></HourMetrics>\
                     </StorageServiceProperties>",
            ),
        )
        .headers(XML)],
    )
    .on(On::Storage)
    .needs(Needs::Properties),
    Probe::of(
        Line(
            "a service property that does not exist; `DefaultServiceVersion`",
            "is ignored; 400 `InvalidXmlDocument` (the status was seen)",
        ),
        &[send(
            "PUT",
            PROPERTIES,
            Body::Xml(
                "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><Unknown>1</Unknown>\
                     </StorageServiceProperties>",
            ),
        )
        .headers(XML)],
    )
    .on(On::Storage)
    .needs(Needs::Properties),
    Probe::of(
        Line(
            "`*` among exposed headers for an error or for a request with `Origin`, a prefix of other headers",
            "the headers of the response, in the recorded order of a read without `Origin`",
        ),
        &[
            insert("r", "").setup(),
            send(
                "PUT",
                PROPERTIES,
                Body::Xml(
                    "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><Cors><CorsRule>\
                     <AllowedOrigins>https://nobody.invalid</AllowedOrigins><AllowedMethods>GET</AllowedMethods>\
                     <MaxAgeInSeconds>1</MaxAgeInSeconds><ExposedHeaders>*</ExposedHeaders>\
                     <AllowedHeaders>*</AllowedHeaders></CorsRule></Cors></StorageServiceProperties>",
                ),
            )
            .headers(XML)
            .setup(),
            get("<R:r>").headers(&[("Origin", "https://nobody.invalid")]).waits(),
            get("<R:missing>").headers(&[("Origin", "https://nobody.invalid")]),
        ],
    )
    .on(On::Storage)
    .needs(Needs::Properties)
    .header("access-control-expose-headers"),
];
