//! Several servers behind one endpoint, with real processes.

use std::sync::Arc;

use goodcall_mcp::{GroupMember, McpServer, ProxyLog, ProxyOptions, ServerGroup};
use goodcall_server::ConfigFile;
use serde_json::{Value, json};

use crate::bridge::{Client, fake_server};

const CONFIG: &str = r#"
[mcp.servers.one]
prefix = "one_"
deny = ["big"]
tools.echo = { name = "say", description = "Says it." }
[mcp.servers.two]
allow = ["echo", "pid", "die"]
tools.pid = { rate_limit = 1 }
"#;

/// A session with two servers.
async fn start() -> Client {
    let file = ConfigFile::parse(CONFIG).unwrap();
    let members = ["one", "two"].map(|name| GroupMember {
        server: McpServer::from(fake_server("plain")),
        options: Arc::new(ProxyOptions::from_settings(name, file.mcp_server(name))),
    });
    let mut options = ProxyOptions::from_settings("goodcall", file.mcp_server("goodcall"));
    options.members = members
        .iter()
        .map(|member| Arc::clone(&member.options))
        .collect();
    let log = Arc::new(ProxyLog::new().quiet());
    let group = ServerGroup::new(members.into(), log);
    let mut client = Client::start_with(group, options).await;
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    client
        .send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
        .await;
    let opened = client.next().await.unwrap();
    assert_eq!(opened["result"]["serverInfo"]["name"], "goodcall");
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    client
}

async fn listed(client: &mut Client) -> Vec<Value> {
    client
        .send(&json!({"jsonrpc": "2.0", "id": "list", "method": "tools/list"}))
        .await;
    let list = client.next().await.unwrap();
    list["result"]["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    names.collect()
}

#[tokio::test]
async fn tools_of_several_servers_are_called_through_one_session() {
    let mut client = start().await;
    let tools = listed(&mut client).await;
    assert_eq!(
        names(&tools),
        [
            "say",
            "one_die",
            "one_hang",
            "one_pid",
            "one_region",
            "echo",
            "die",
            "pid"
        ]
    );
    assert_eq!(tools[0]["description"], "Says it.");
    // Calls are mended by the schema of the tool, and reach their own server.
    for (id, tool) in [(1, "say"), (2, "echo")] {
        client.call(id, tool, json!({"n": "5"})).await;
        let answer = client.next().await.unwrap();
        assert_eq!(answer["result"]["got"]["n"], 5, "{answer}");
    }
    client.call(3, "one_pid", json!({})).await;
    let one = client.next().await.unwrap()["result"]["pid"].clone();
    client.call(4, "pid", json!({})).await;
    let two = client.next().await.unwrap()["result"]["pid"].clone();
    assert!(one.is_u64() && two.is_u64() && one != two);
    client.call(5, "pid", json!({})).await;
    let limited = client.next().await.unwrap();
    assert_eq!(
        limited["result"]["_meta"]["goodcall/reason"],
        "rate_limited"
    );
    client.call(6, "one_big", json!({})).await;
    let hidden = client.next().await.unwrap();
    assert!(hidden["result"]["isError"] == true || hidden["error"]["code"] == -32602);
}

#[tokio::test]
async fn server_that_ends_takes_only_its_own_tools_along() {
    let mut client = start().await;
    listed(&mut client).await;
    client.call(1, "one_die", json!({})).await;
    let mut answers = Vec::new();
    for _ in 0..2 {
        answers.push(client.next().await.unwrap());
    }
    assert!(answers.iter().any(|one| one["error"]["code"] == -32000));
    assert!(
        answers
            .iter()
            .any(|one| one["method"] == "notifications/tools/list_changed")
    );
    assert_eq!(names(&listed(&mut client).await), ["echo", "die", "pid"]);
    client.call(2, "echo", json!({"n": 1})).await;
    assert_eq!(client.next().await.unwrap()["result"]["got"]["n"], 1);
}
