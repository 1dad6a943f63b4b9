//! Facts of the service's properties, and of requests from browsers.

use super::sources::{XML, page, recorded, suite};
use crate::fact::Part::{Has, Is};
use crate::fact::{Area, Exchange, Fact, On, Source, ask, prepare, rejects, responds};
use crate::step::{Auth, Body, Step, get, insert, send};

const PATH: &str = "?restype=service&comp=properties";
const RECORDED_PATH: &str = "?comp=properties&restype=service";
const INVALID: &str = "XML specified is not syntactically valid.";
const SUITES: Source = suite("azure-storage-net, whose tests are marked for live accounts", "2018-09");
const PREFLIGHT: Source = page("https://learn.microsoft.com/en-us/rest/api/storageservices/preflight-table-request");
const CORS: Source = page(
    "https://learn.microsoft.com/en-us/rest/api/storageservices/cross-origin-resource-sharing--cors--support-for-the-azure-storage-services",
);
/// All properties, off.
const OFF: &str = "<?xml version='1.0' encoding='utf-8'?>\n<StorageServiceProperties><Logging><Version>1.0</Version><Delete>False</Delete><Read>False</Read><Write>False</Write><RetentionPolicy><Enabled>False</Enabled></RetentionPolicy></Logging><HourMetrics><Version>1.0</Version><Enabled>False</Enabled><RetentionPolicy><Enabled>False</Enabled></RetentionPolicy></HourMetrics><MinuteMetrics><Version>1.0</Version><Enabled>False</Enabled><RetentionPolicy><Enabled>False</Enabled></RetentionPolicy></MinuteMetrics><Cors /></StorageServiceProperties>";

/// Properties with these rules.
macro_rules! rules {
    ($rules:literal) => {
        Body::Xml(concat!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><Cors>",
            $rules,
            "</Cors></StorageServiceProperties>"
        ))
    };
}

/// One rule more than there may be.
const SIX: &str = {
    macro_rules! six {
        ($rule:literal) => {
            concat!(
                "<StorageServiceProperties><Cors>",
                $rule,
                $rule,
                $rule,
                $rule,
                $rule,
                $rule,
                "</Cors></StorageServiceProperties>"
            )
        };
    }
    six!(
        "<CorsRule><AllowedHeaders>x-ms-meta-data*</AllowedHeaders><AllowedMethods>PUT</AllowedMethods><AllowedOrigins>www.xyz.com</AllowedOrigins><ExposedHeaders>x-ms-meta-source*</ExposedHeaders><MaxAgeInSeconds>500</MaxAgeInSeconds></CorsRule>"
    )
};

/// A rule for everything.
const ANY: Body = rules!(
    "<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>60</MaxAgeInSeconds><ExposedHeaders>*</ExposedHeaders><AllowedHeaders>*</AllowedHeaders></CorsRule>"
);
/// A rule for one origin.
const ONE: Body = rules!(
    "<CorsRule><AllowedOrigins>https://a.example</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods><MaxAgeInSeconds>60</MaxAgeInSeconds><ExposedHeaders>x-ms-request-id</ExposedHeaders><AllowedHeaders>x-ms-date,x-ms-meta*</AllowedHeaders></CorsRule>"
);

const fn fact(name: &'static str, source: Source, exchanges: &'static [Exchange]) -> Fact {
    Fact::of(Area::Service, name, source, exchanges)
        .on(On::Storage)
        .changes_properties()
}

/// Sets the properties.
const fn set(body: Body) -> Step {
    send("PUT", PATH, body).headers(XML)
}

/// Reads the properties.
const fn read() -> Step {
    get(PATH).headers(XML).waits()
}

pub(super) const FACTS: &[Fact] = &[
    fact(
        "The properties are set with 202 and no body.",
        recorded("storage/py2017_service_properties_table_service_properties.json", 0, "2017-10-02"),
        &[ask(
            send("PUT", RECORDED_PATH, Body::Xml(OFF)).headers(XML),
            responds(202).headers(&[("Cache-Control", "")]).body(&[Is("")]),
        )],
    ),
    fact(
        "The properties are read after a byte order mark, with Booleans in lower case.",
        recorded("storage/py2017_service_properties_table_service_properties.json", 1, "2017-10-02"),
        &[
            prepare(send("PUT", RECORDED_PATH, Body::Xml(OFF)).headers(XML)),
            ask(
                get(RECORDED_PATH).headers(XML).waits(),
                responds(200).headers(&[("Content-Type", "application/xml")]).body(&[Is(
                    "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><Logging><Version>1.0</Version><Read>false</Read><Write>false</Write><Delete>false</Delete><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging><HourMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics><MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></MinuteMetrics><Cors /></StorageServiceProperties>",
                )]),
            ),
        ],
    ),
    fact(
        "The primary has no statistics, and its rejection has the version of the request.",
        suite("the client for Go, a recorded request", "2021-07"),
        &[ask(
            get("?restype=service&comp=stats").headers(&[("Accept", "application/xml"), ("x-ms-version", "2019-02-02")]),
            rejects(400, "InvalidQueryParameterValue", "{text}").headers(&[
                ("Content-Type", "application/xml"),
                ("x-ms-error-code", "InvalidQueryParameterValue"),
                ("x-ms-version", "2019-02-02"),
            ]),
        )],
    ),
    fact(
        "A retention has up to 365 days.",
        recorded("storage/go_TestRetentionTooLong.json", 0, "2021-08-02"),
        &[ask(
            send(
                "PUT",
                RECORDED_PATH,
                Body::Xml(
                    "<StorageServiceProperties><MinuteMetrics><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>366</Days></RetentionPolicy><Version>1.0</Version></MinuteMetrics></StorageServiceProperties>",
                ),
            )
            .headers(XML),
            rejects(400, "InvalidXmlDocument", INVALID).headers(&[
                ("x-ms-error-code", "InvalidXmlDocument"),
                ("Content-Type", "application/xml"),
            ]),
        )],
    ),
    fact(
        "There are up to five CORS rules.",
        recorded("storage/go_TestSetTooManyCors.json", 0, "2021-08-02"),
        &[ask(
            send(
                "PUT",
                RECORDED_PATH,
                Body::Xml(SIX),
            )
            .headers(XML),
            rejects(400, "InvalidXmlDocument", INVALID).headers(&[("x-ms-error-code", "InvalidXmlDocument")]),
        )],
    ),
    fact(
        "A CORS rule has up to 64 origins.",
        SUITES,
        &[ask(
            set(rules!(
                "<CorsRule><AllowedOrigins>https://a.example<,https://b.example*64></AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>1</MaxAgeInSeconds><ExposedHeaders /><AllowedHeaders /></CorsRule>"
            )),
            rejects(400, "InvalidXmlNodeValue", "{text}"),
        )],
    ),
    fact(
        "A CORS rule has up to 64 whole allowed headers.",
        SUITES,
        &[ask(
            set(rules!(
                "<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>1</MaxAgeInSeconds><ExposedHeaders /><AllowedHeaders>x-ms-a<,x-ms-b*64></AllowedHeaders></CorsRule>"
            )),
            rejects(400, "InvalidXmlNodeValue", "{text}"),
        )],
    ),
    fact(
        "A CORS rule has up to two prefixes of allowed headers.",
        SUITES,
        &[ask(
            set(rules!(
                "<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>1</MaxAgeInSeconds><ExposedHeaders /><AllowedHeaders>a*,b*,c*</AllowedHeaders></CorsRule>"
            )),
            rejects(400, "InvalidXmlNodeValue", "{text}"),
        )],
    ),
    fact(
        "A CORS rule may allow TRACE and CONNECT.",
        SUITES,
        &[ask(
            set(rules!(
                "<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>TRACE,CONNECT</AllowedMethods><MaxAgeInSeconds>1</MaxAgeInSeconds><ExposedHeaders /><AllowedHeaders /></CorsRule>"
            )),
            responds(202),
        )],
    ),
    fact(
        "The service of tables has no default version among its properties.",
        SUITES,
        &[ask(
            set(Body::Xml(
                "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceProperties><DefaultServiceVersion>2009-09-19</DefaultServiceVersion></StorageServiceProperties>",
            )),
            rejects(400, "{text}", "{text}"),
        )],
    ),
    fact(
        "The headers of a CORS rule come back with whole names before prefixes.",
        suite(
            "azure-data-tables for Python, recorded test_table_service_properties.py test_set_cors",
            "2026",
        ),
        &[
            prepare(set(rules!(
                "<CorsRule><AllowedOrigins>www.xyz.com</AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>500</MaxAgeInSeconds><ExposedHeaders>x-ms-meta-data*,x-ms-meta-source*,x-ms-meta-abc,x-ms-meta-bcd</ExposedHeaders><AllowedHeaders>x-ms-meta-data*,x-ms-meta-target*,x-ms-meta-xyz,x-ms-meta-foo</AllowedHeaders></CorsRule>"
            ))),
            ask(
                read(),
                responds(200).body(&[Has(
                    "<AllowedHeaders>x-ms-meta-xyz,x-ms-meta-foo,x-ms-meta-data*,x-ms-meta-target*</AllowedHeaders>",
                )]),
            ),
        ],
    ),
    fact(
        "A CORS rule comes back with its methods first, then origins, headers, exposed headers and age.",
        suite("the clients for Go, Java, JavaScript and Python, 12 recorded answers", "2022"),
        &[
            prepare(set(ONE)),
            ask(
                read(),
                responds(200).body(&[Has(
                    "<CorsRule><AllowedMethods>GET,PUT</AllowedMethods><AllowedOrigins>https://a.example</AllowedOrigins><AllowedHeaders>x-ms-date,x-ms-meta*</AllowedHeaders><ExposedHeaders>x-ms-request-id</ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule>",
                )]),
            ),
        ],
    ),
    fact(
        "With a CORS rule, the properties vary by Origin.",
        suite(
            "azure-data-tables for Python, recorded tests of service properties",
            "2022 to 2026",
        ),
        &[
            prepare(set(ONE)),
            ask(read(), responds(200).headers(&[("Vary", "Origin")])),
        ],
    ),
    fact(
        "A rule that exposes all headers to all origins lists the headers of a response without an Origin.",
        suite("seven clients of Microsoft, recorded 2020 to 2025", "2025"),
        &[
            prepare(set(ANY)),
            prepare(insert("r", "")),
            ask(
                get("<R:r>")
                    .headers(&[("x-ms-client-request-id", "9b4f1a52-0c29-4c8e-8d3b-7a1f0e6d2c11")])
                    .waits(),
                responds(200).headers(&[
                    ("Access-Control-Allow-Origin", "*"),
                    (
                        "Access-Control-Expose-Headers",
                        "x-ms-request-id,x-ms-client-request-id,Server,x-ms-version,X-Content-Type-Options,Cache-Control,ETag,Content-Type,Content-Length,Date,Transfer-Encoding",
                    ),
                ]),
            ),
        ],
    ),
    fact(
        "A request from an allowed origin is answered with it.",
        CORS,
        &[
            prepare(set(ONE)),
            prepare(insert("r", "")),
            ask(
                get("<R:r>").headers(&[("Origin", "https://a.example")]).waits(),
                responds(200).headers(&[
                    ("Access-Control-Allow-Origin", "https://a.example"),
                    ("Access-Control-Expose-Headers", "x-ms-request-id"),
                ]),
            ),
        ],
    ),
    fact(
        "A request from another origin is answered without CORS headers.",
        CORS,
        &[
            prepare(set(ONE)),
            prepare(insert("r", "")),
            ask(
                get("<R:r>").headers(&[("Origin", "https://b.example")]).waits(),
                responds(200).headers(&[("Access-Control-Allow-Origin", "")]),
            ),
        ],
    ),
    fact(
        "A preflight request of an allowed origin needs no authorization.",
        PREFLIGHT,
        &[
            prepare(set(ONE)),
            ask(
                send("OPTIONS", "<T>", Body::Empty)
                    .headers(&[
                        ("Origin", "https://a.example"),
                        ("Access-Control-Request-Method", "PUT"),
                        ("Access-Control-Request-Headers", "x-ms-date"),
                    ])
                    .auth(Auth::None)
                    .waits(),
                responds(200).headers(&[
                    ("Access-Control-Allow-Origin", "https://a.example"),
                    ("Access-Control-Allow-Methods", "PUT"),
                    ("Access-Control-Allow-Headers", "x-ms-date"),
                    ("Access-Control-Max-Age", "60"),
                    ("Access-Control-Allow-Credentials", "true"),
                ]),
            ),
        ],
    ),
    fact(
        "A preflight request of another origin is rejected.",
        PREFLIGHT,
        &[
            prepare(set(ONE)),
            ask(
                send("OPTIONS", "<T>", Body::Empty)
                    .headers(&[
                        ("Origin", "https://b.example"),
                        ("Access-Control-Request-Method", "PUT"),
                    ])
                    .auth(Auth::None)
                    .waits(),
                rejects(403, "{text}", "{text}"),
            ),
        ],
    ),
];
