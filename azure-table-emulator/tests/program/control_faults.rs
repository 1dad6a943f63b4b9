//! Faults through the control port: what each does to a client of tables, and which are rejected.

use std::time::Duration;

use azure_table::{DynamicEntity, ErrorKind};

use serde_json::Value;

use crate::Running;
use crate::control::{Port, ask, service};

#[tokio::test]
async fn faults_act_and_are_counted() {
    let (running, port) = Port::start();
    let service = service(&running);
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    let row = |key: &str| DynamicEntity::new("p", key);

    let rule = "{\"fault\":\"respond\",\"status\":503,\"code\":\"ServerBusy\",\"headers\":{\"Retry-After\":\"7\"},\
                \"operations\":[\"insert\"],\"table\":\"Blogs\",\"first\":1}";
    port.ok("PUT /faults", rule);
    let busy = blogs.insert(&row("1")).await.unwrap_err();
    assert_eq!((busy.status(), busy.code()), (Some(503), Some("ServerBusy")));
    assert_eq!(busy.retry_after(), Some(Duration::from_secs(7)));
    blogs.insert(&row("1")).await.unwrap();

    port.ok(
        "POST /faults",
        "{\"fault\":\"loseResponse\",\"operations\":[\"writes\"],\"atMost\":1}",
    );
    let lost = blogs.insert(&row("2")).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::InDoubt, "{lost}");
    let rules = port.lines("GET /faults");
    assert_eq!((&rules[0]["matched"], &rules[0]["hits"]), (&3.into(), &1.into()));
    assert_eq!((&rules[1]["matched"], &rules[1]["hits"]), (&1.into(), &1.into()));
    assert!(blogs.get(("p", "2")).await.unwrap().is_some());

    // The lines that are read can be sent back.
    let lines = port.ok("GET /faults", "");
    port.ok("PUT /faults", &lines);
    port.ok("PUT /faults", "{\"fault\":\"loseRequest\"} {\"fault\":\"hangRequest\"}");
    blogs.insert(&row("3")).await.unwrap_err();
    let id = port.lines("GET /faults")[0]["id"].as_u64().unwrap();
    port.ok(&format!("DELETE /faults/{id}"), "");
    assert_eq!(port.rejected(&format!("DELETE /faults/{id}"), "").0, 404);
    let hanging = blogs.insert(&row("3")).timeout(Duration::from_millis(200)).await;
    let hanging = hanging.unwrap_err().last_failure().unwrap();
    assert_eq!(hanging.kind(), ErrorKind::Timeout);
    port.ok("DELETE /faults", "");
    assert_eq!(port.ok("GET /faults", ""), "");
    blogs.insert(&row("3")).await.unwrap();

    // A cut response announces all of its bytes.
    port.ok("PUT /faults", "{\"fault\":\"cutResponse\",\"bytes\":5}");
    let (_, tables) = running.connection_string.split_once("http://").unwrap();
    let (status, head, body) = ask(
        tables.split('/').next().unwrap(),
        "GET /devstoreaccount1/Tables",
        &[],
        "",
    );
    let length: usize = head
        .split("content-length: ")
        .nth(1)
        .unwrap()
        .split('\r')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(status == 404 && body.len() == 5 && length > 5, "{head}\n{body}");
    let lost = blogs.get(("p", "3")).await.unwrap_err();
    assert_eq!(lost.status(), None, "{lost}");
    port.ok(
        "PUT /faults",
        "{\"fault\":\"failBatchPart\",\"status\":409,\"code\":\"EntityAlreadyExists\",\"message\":\"0:It exists.\"}",
    );
    let mut batch = blogs.batch();
    batch.insert(&row("4")).unwrap();
    let failed = batch.submit().await.unwrap_err();
    assert_eq!(
        (failed.status(), failed.code()),
        (Some(409), Some("EntityAlreadyExists"))
    );

    let log = port.lines("GET /requests");
    let of = |status: Option<u16>, why: &str| {
        let found = log
            .iter()
            .filter(|line| line["status"].as_u64() == status.map(u64::from));
        found
            .filter(|line| line["why"].as_str().is_some_and(|it| it.contains(why)))
            .count()
    };
    assert_eq!(of(Some(503), "injected fault: response of a rule"), 1, "{log:?}");
    assert_eq!(of(None, "injected fault: the response was lost"), 1, "{log:?}");
    assert_eq!(
        of(None, "injected fault: the response broke off after 5 of "),
        2,
        "{log:?}"
    );
}

#[tokio::test]
async fn injected_error_has_the_text_and_the_headers_of_the_service() {
    for (profile, text, id) in [
        ("storage", "The specified entity already exists.", "\nRequestId:"),
        ("cosmos", "The specified entity already exists.", "\nRequestID:"),
    ] {
        let running = Running::start(&["--port=0", "--control=0", "-q", "--profile", profile]);
        let port = Port::of(&running);
        port.ok(
            "PUT /faults",
            "{\"fault\":\"respond\",\"status\":409,\"code\":\"EntityAlreadyExists\",\"headers\":{\"x-own\":\"1\"}}",
        );
        let (_, tables) = running.connection_string.split_once("TableEndpoint=http://").unwrap();
        let address = tables.split('/').next().unwrap().replace("localhost", "127.0.0.1");
        let accept = [("Accept", "application/json;odata=nometadata")];
        let (status, head, body) = ask(&address, "GET /devstoreaccount1/Tables", &accept, "");
        let body: Value = serde_json::from_str(&body).unwrap();
        let message = body["odata.error"]["message"]["value"].as_str().unwrap();
        assert_eq!(
            (status, &body["odata.error"]["code"]),
            (409, &"EntityAlreadyExists".into())
        );
        assert!(
            message.starts_with(text) && message.contains(id),
            "{profile}: {message}"
        );
        for header in ["x-own: 1", "x-ms-request-id: ", "date: "] {
            assert!(head.contains(header), "{profile}: {header}: {head}");
        }
        let logged = &port.lines("GET /requests")[0];
        assert_eq!(logged["code"], "EntityAlreadyExists");
    }
}

#[test]
fn injected_code_is_one_of_the_service() {
    for (profile, code, status, text) in [
        ("cosmos", "Forbidden", 403, "using this permission."),
        (
            "cosmos",
            "Unauthorized",
            401,
            "AAD token is intended for [https://storage.azure.com]",
        ),
        (
            "cosmos",
            "ResourceNotFound",
            404,
            "The specified resource does not exist.",
        ),
        (
            "cosmos",
            "TableAlreadyExists",
            409,
            "The specified table: [] already exists.",
        ),
        ("storage", "TableNotFound", 404, "The table specified does not exist."),
    ] {
        let running = Running::start(&["--port=0", "--control=0", "-q", "--profile", profile]);
        let port = Port::of(&running);
        let rule = |code| format!("{{\"fault\":\"respond\",\"status\":{status},\"code\":\"{code}\"}}");
        port.ok("PUT /faults", &rule(code));
        let (_, tables) = running.connection_string.split_once("TableEndpoint=http://").unwrap();
        let address = tables.split('/').next().unwrap().replace("localhost", "127.0.0.1");
        let accept = [("Accept", "application/json;odata=nometadata")];
        let (found, _, body) = ask(&address, "GET /devstoreaccount1/Blogs()", &accept, "");
        let error = &serde_json::from_str::<Value>(&body).unwrap()["odata.error"];
        assert_eq!((found, &error["code"]), (status, &code.into()), "{profile}");
        assert!(error["message"]["value"].as_str().unwrap().contains(text), "{error}");
        let of_other = if profile == "cosmos" {
            "TableNotFound"
        } else {
            "Forbidden"
        };
        let (status, why) = port.rejected("PUT /faults", &rule(of_other));
        assert_eq!(status, 400);
        assert!(why.contains("has no text of the service; set message"), "{why}");
    }
}

#[test]
fn injected_header_is_once_in_the_part_of_a_batch() {
    let (running, port) = Port::start();
    port.ok(
        "PUT /faults",
        "{\"fault\":\"failBatchPart\",\"status\":409,\"code\":\"EntityAlreadyExists\",\
         \"headers\":{\"Content-Type\":\"text/plain\"}}",
    );
    let (_, tables) = running.connection_string.split_once("TableEndpoint=http://").unwrap();
    let address = tables.split('/').next().unwrap().replace("localhost", "127.0.0.1");
    let batch = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\
                 Content-Transfer-Encoding: binary\r\n\r\nPOST /devstoreaccount1/Blogs HTTP/1.1\r\n\r\n\
                 {\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\r\n--c--\r\n--b--\r\n";
    let kind = [("Content-Type", "multipart/mixed; boundary=b")];
    let (_, _, body) = ask(&address, "POST /devstoreaccount1/$batch", &kind, batch);
    let part = body.split("HTTP/1.1 409").nth(1).unwrap().to_ascii_lowercase();
    let types: Vec<_> = part.lines().filter(|line| line.starts_with("content-type:")).collect();
    assert_eq!(types, ["content-type: text/plain"]);
}

#[tokio::test]
async fn injected_failure_of_a_batch_names_its_operation() {
    let (running, port) = Port::start();
    let blogs = service(&running).dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    port.ok(
        "PUT /faults",
        "{\"fault\":\"failBatchPart\",\"status\":412,\"code\":\"UpdateConditionNotSatisfied\",\"index\":1}",
    );
    for (operations, index) in [(3, 1), (2, 1)] {
        let mut batch = blogs.batch();
        for n in 0..operations {
            batch.insert(&DynamicEntity::new("p", n.to_string())).unwrap();
        }
        let failed = batch.submit().await.unwrap_err();
        assert_eq!(
            (failed.status(), failed.batch_index()),
            (Some(412), Some(index)),
            "{failed}"
        );
        let text = "The update condition specified in the request was not satisfied.";
        assert!(failed.to_string().contains(text), "{failed}");
        let log = port.lines("GET /requests");
        let statuses: Vec<_> = log.last().unwrap()["batch"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["status"].as_u64())
            .collect();
        let expected: Vec<_> = (0..operations).map(|n| (n == index).then_some(412)).collect();
        assert_eq!(statuses, expected);
    }
}

#[test]
fn faults_that_mean_nothing_are_rejected() {
    let (_running, port) = Port::start();
    port.ok("PUT /faults", "{\"fault\":\"loseRequest\"}");
    for (rule, why) in [
        ("", "body: it has no rule"),
        ("{}", "rule 1: missing field `fault`"),
        (
            "[{\"fault\":\"loseRequest\"}]",
            "rule 1: expected a JSON object, found an array",
        ),
        (
            "{\"fault\":\"loseRequest\"}\n{\"fault\":\"respond\",\"status\":\"503\"}",
            "rule 2: status: invalid type: string \"503\", expected u16",
        ),
        (
            "{\"fault\":\"loseRequest\",\"operations\":[\"insert\",1]}",
            "operations[1]: invalid type",
        ),
        (
            "{\"fault\":\"respond\",\"status\":500,\"headers\":{\"a\":1}}",
            "headers.a: invalid type",
        ),
        ("{\"fault\":\"loseRequest\"} {", "rule 2: EOF while parsing"),
        (
            "{\"fault\":\"loseRequest\"} {\"fault\":\"reset\"}",
            "rule 2: fault: \"reset\" is not one of loseRequest, lose",
        ),
        (
            "{\"fault\":\"loseRequest\",\"tabel\":\"T\"}",
            "unknown field `tabel`, expected one of `fault`",
        ),
        (
            "{\"fault\":\"loseRequest\",\"bytes\":1}",
            "bytes: not a member of loseRequest",
        ),
        ("{\"fault\":\"cutResponse\"}", "bytes: missing"),
        (
            "{\"fault\":\"delayRequest\"}",
            "milliseconds: missing, from 0 to 86400000",
        ),
        (
            "{\"fault\":\"delayRequest\",\"milliseconds\":86400001}",
            "milliseconds: 86400001, it must be 0 to 86400000",
        ),
        ("{\"fault\":\"respond\"}", "status: missing, from 200 to 599"),
        (
            "{\"fault\":\"respond\",\"status\":503,\"code\":\"ServerBussy\"}",
            "code: \"ServerBussy\" has no text of the service; set message",
        ),
        (
            "{\"fault\":\"respond\",\"status\":503,\"code\":\"ServerBusy\",\"index\":1}",
            "index: not a member of respond",
        ),
        (
            "{\"fault\":\"failBatchPart\",\"status\":409,\"code\":\"C\",\"message\":\"1:M\",\"index\":1}",
            "index: it needs a code and no message",
        ),
        (
            "{\"fault\":\"respond\",\"status\":101}",
            "status: 101, it must be 200 to 599",
        ),
        (
            "{\"fault\":\"respond\",\"status\":500,\"message\":\"m\"}",
            "message: it needs a code",
        ),
        (
            "{\"fault\":\"respond\",\"status\":500,\"headers\":{\"a b\":\"\"}}",
            "headers: \"a b\" is not a header name",
        ),
        (
            "{\"fault\":\"respond\",\"status\":500,\"headers\":{\"a\":\"\\n\"}}",
            "headers: a: \"\\n\" is not a header value",
        ),
        (
            "{\"fault\":\"respond\",\"status\":500,\"headers\":{\"Content-Length\":\"1\"}}",
            "headers: Content-Length belongs",
        ),
        (
            "{\"fault\":\"loseRequest\",\"operations\":[\"upsert\"]}",
            "operations: \"upsert\" is not one of reads, writes, insert",
        ),
        ("{\"fault\":\"loseRequest\",\"nth\":0}", "nth: 0, it must be 1 or more"),
        (
            "{\"fault\":\"loseRequest\",\"nth\":1,\"every\":2}",
            "nth, first, every, probability: 2 of them, at most 1 is allowed",
        ),
        (
            "{\"fault\":\"loseRequest\",\"probability\":1.5}",
            "probability: 1.5, it must be 0 to 1",
        ),
        (
            &"{\"fault\":\"loseRequest\"}".repeat(101),
            "rules: 101, more than the limit of 100",
        ),
    ] {
        let (status, error) = port.rejected("PUT /faults", rule);
        assert!(status == 400 && error.contains(why), "{rule}: {error}");
    }
    // None of them replaced the rule.
    assert_eq!(port.lines("GET /faults").len(), 1);
}
