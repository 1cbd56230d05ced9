//! Requests with tools, in each provider's form.

#[cfg(feature = "event-stream")]
#[allow(dead_code, reason = "not every test has streams of Bedrock")]
pub(crate) mod aws;

use goodcall_wire::Provider;

/// Returns a request that offers these definitions.
pub(crate) fn request(provider: Provider, tools: &str) -> String {
    let question = r#"[{"role":"user","content":"Go."}]"#;
    match provider {
        Provider::Gemini => format!(
            r#"{{"contents":[{{"role":"user","parts":[{{"text":"Go."}}]}}],"tools":[{{"functionDeclarations":{tools}}}]}}"#
        ),
        Provider::Bedrock => format!(
            r#"{{"messages":[{{"role":"user","content":[{{"text":"Go."}}]}}],"toolConfig":{{"tools":{tools}}}}}"#
        ),
        Provider::Responses => format!(r#"{{"model":"m","input":{question},"tools":{tools}}}"#),
        _ => format!(r#"{{"model":"m","messages":{question},"tools":{tools}}}"#),
    }
}
