//! What a group's router does with each message, without servers.

use std::sync::Arc;

use super::router::{GroupOutput, GroupRouter};
use crate::options::ProxyOptions;
use crate::tool_view::ToolView;

/// Shows outputs one per line: `client …`, `0 …` for the first server, `warning …`.
fn shown(router: &mut GroupRouter) -> String {
    let text = |frame: Vec<u8>| String::from_utf8(frame).expect("frames are made of text");
    let lines = router.take_output().into_iter().map(|output| match output {
        GroupOutput::Client(frame) => format!("client {}", text(frame)),
        GroupOutput::Member(member, frame) => format!("{member} {}", text(frame)),
        GroupOutput::Warning(warning) => format!("warning {warning}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn member(name: &str, view: ToolView) -> Arc<ProxyOptions> {
    Arc::new(ProxyOptions {
        server: name.to_owned(),
        view,
        ..ProxyOptions::default()
    })
}

/// Two servers after the handshake: `a` with a prefix and a tool that is hidden, and `b`.
fn opened() -> GroupRouter {
    let view = ToolView {
        prefix: "a_".to_owned(),
        deny: vec!["secret".to_owned()],
        ..ToolView::default()
    };
    let mut router = GroupRouter::new(vec![member("a", view), member("b", ToolView::default())]);
    router.client_frame(br#"{"id":"i","method":"initialize","params":{"x":1}}"#);
    assert_eq!(
        shown(&mut router),
        "0 {\"id\":2,\"method\":\"initialize\",\"params\":{\"x\":1}}\n\
         1 {\"id\":3,\"method\":\"initialize\",\"params\":{\"x\":1}}"
    );
    router.member_frame(1, br#"{"id":3,"result":{"protocolVersion":"2025-06-18","instructions":"Use b.","capabilities":{"tools":{},"logging":{},"tasks":{}}}}"#);
    assert_eq!(shown(&mut router), "");
    router.member_frame(0, br#"{"id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}}}"#);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        shown(&mut router),
        format!(
            r#"client {{"jsonrpc":"2.0","id":"i","result":{{"capabilities":{{"logging":{{}},"resources":{{"listChanged":true,"subscribe":true}},"tools":{{"listChanged":true}}}},"instructions":"b: Use b.","protocolVersion":"2025-06-18","serverInfo":{{"name":"goodcall","version":"{version}"}}}}}}"#
        )
    );
    router
}

#[test]
fn server_whose_handshake_cannot_be_read_is_left_out() {
    let members = ["a", "b"].map(|name| member(name, ToolView::default()));
    let mut router = GroupRouter::new(members.into());
    router.client_frame(br#"{"id":"i","method":"initialize","params":{}}"#);
    shown(&mut router);
    let (open, close) = ("[".repeat(200), "]".repeat(200));
    let deep = format!(r#"{{"id":2,"result":{{"capabilities":{{"x":{open}{close}}}}}}}"#);
    router.member_frame(0, deep.as_bytes());
    let warning = shown(&mut router);
    let expected = "warning a: left out, it cannot be opened: unreadable: recursion limit exceeded";
    assert!(warning.starts_with(expected), "{warning}");
}

#[test]
fn lists_are_put_together_with_all_pages() {
    let mut router = opened();
    router.client_frame(br#"{"id":1,"method":"tools/list"}"#);
    assert_eq!(
        shown(&mut router),
        "0 {\"id\":5,\"method\":\"tools/list\"}\n1 {\"id\":6,\"method\":\"tools/list\"}"
    );
    router.member_frame(
        0,
        br#"{"id":5,"result":{"tools":[{"name":"go"},{"name":"secret"}],"nextCursor":"n"}}"#,
    );
    assert_eq!(
        shown(&mut router),
        r#"0 {"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"n"}}"#
    );
    router.member_frame(
        1,
        br#"{"id":6,"result":{"tools":[{"name":"run"},{"name":"a_go"}]}}"#,
    );
    router.member_frame(0, br#"{"id":7,"result":{"tools":[{"name":"find"}]}}"#);
    assert_eq!(
        shown(&mut router),
        "warning b: `a_go` is left out, another server has it: give one a prefix\n\
         client {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[\
         {\"name\":\"a_go\",\"_meta\":{\"goodcall/server\":\"a\"}},\
         {\"name\":\"a_find\",\"_meta\":{\"goodcall/server\":\"a\"}},\
         {\"name\":\"run\",\"_meta\":{\"goodcall/server\":\"b\"}}]}}"
    );
    // Only `a` has resources, and nobody has prompts.
    router.client_frame(br#"{"id":2,"method":"resources/list"}"#);
    assert_eq!(
        shown(&mut router),
        r#"0 {"id":9,"method":"resources/list"}"#
    );
    router.client_frame(br#"{"id":3,"method":"prompts/list"}"#);
    assert_eq!(
        shown(&mut router),
        r#"client {"jsonrpc":"2.0","id":3,"result":{"prompts":[]}}"#
    );
}

#[test]
fn calls_reach_their_server_under_its_own_names() {
    let mut router = opened();
    let call =
        |name: &str| format!(r#"{{"id":"c","method":"tools/call","params":{{"name":"{name}"}}}}"#);
    router.client_frame(call("a_go").as_bytes());
    assert_eq!(
        shown(&mut router),
        r#"0 {"id":4,"method":"tools/call","params":{"name":"go"}}"#
    );
    // An answer of another server does not count.
    router.member_frame(1, br#"{"id":4,"result":{"wrong":1}}"#);
    router.member_frame(0, br#"{"id":4,"result":{"right":1}}"#);
    assert_eq!(
        shown(&mut router),
        r#"client {"id":"c","result":{"right":1}}"#
    );
    router.client_frame(call("go").as_bytes());
    assert_eq!(
        shown(&mut router),
        r#"1 {"id":5,"method":"tools/call","params":{"name":"go"}}"#
    );
    router.client_frame(
        br#"{"method":"notifications/cancelled","params":{"requestId":"c","reason":"r"}}"#,
    );
    assert_eq!(
        shown(&mut router),
        r#"1 {"method":"notifications/cancelled","params":{"requestId":5,"reason":"r"}}"#
    );
    router.client_frame(br#"{"id":7,"method":"resources/read","params":{"uri":"file:///x"}}"#);
    assert_eq!(
        shown(&mut router),
        r#"0 {"id":6,"method":"resources/read","params":{"uri":"file:///x"}}"#
    );
}

#[test]
fn hidden_tools_and_unknown_methods_are_refused() {
    let view = ToolView {
        deny: vec!["secret".to_owned()],
        ..ToolView::default()
    };
    let mut router = GroupRouter::new(vec![member("a", view)]);
    router.client_frame(br#"{"id":1,"method":"tools/call","params":{"name":"secret"}}"#);
    assert_eq!(
        shown(&mut router),
        r#"client {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: secret"}}"#
    );
    router.client_frame(br#"{"id":2,"method":"tasks/list"}"#);
    assert!(shown(&mut router).contains("-32601"));
    router.client_frame(br#"{"id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#);
    assert!(
        shown(&mut router)
            .contains(r#""supported":["2024-11-05","2025-03-26","2025-06-18","2025-11-25"]"#)
    );
}

#[test]
fn questions_of_two_servers_with_one_id_are_told_apart() {
    let mut router = opened();
    router.member_frame(0, br#"{"id":1,"method":"roots/list"}"#);
    router.member_frame(1, br#"{"id":1,"method":"elicitation/create"}"#);
    assert_eq!(
        shown(&mut router),
        "client {\"id\":\"goodcall:4\",\"method\":\"roots/list\"}\n\
         client {\"id\":\"goodcall:5\",\"method\":\"elicitation/create\"}"
    );
    router.client_frame(br#"{"id":"goodcall:5","result":{"action":"accept"}}"#);
    assert_eq!(
        shown(&mut router),
        r#"1 {"id":1,"result":{"action":"accept"}}"#
    );
    router.member_frame(
        0,
        br#"{"method":"notifications/cancelled","params":{"requestId":1}}"#,
    );
    assert_eq!(
        shown(&mut router),
        r#"client {"method":"notifications/cancelled","params":{"requestId":"goodcall:4"}}"#
    );
}

#[test]
fn server_that_ends_is_answered_for_and_leaves_the_others() {
    let mut router = opened();
    router.client_frame(br#"{"id":1,"method":"tools/call","params":{"name":"a_go"}}"#);
    router.client_frame(br#"{"id":2,"method":"logging/setLevel","params":{"level":"info"}}"#);
    shown(&mut router);
    router.member_ended(0, "the server ended");
    assert_eq!(
        shown(&mut router),
        "client {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"a: the server ended before it answered\"}}\n\
         client {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\
         client {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/list_changed\"}"
    );
    router.client_frame(br#"{"id":3,"method":"tools/list"}"#);
    assert_eq!(shown(&mut router), r#"1 {"id":8,"method":"tools/list"}"#);
    router.member_ended(1, "the server ended");
    let output = shown(&mut router);
    assert!(
        output.contains(r#""id":3,"result":{"tools":[]}"#),
        "{output}"
    );
    assert!(output.contains(r#""id":2,"result":{}"#), "{output}");
}
