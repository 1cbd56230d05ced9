//! The documentation: what its commands would do.

use std::path::Path;

/// Who copies a block of commands must not send one provider's key to another.
#[test]
fn base_urls_of_the_documents_lead_to_their_own_provider() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = 0;
    for name in ["README.md", "docs/gateway.md"] {
        let text = std::fs::read_to_string(root.join(name)).unwrap();
        for block in text.split("```").skip(1).step_by(2) {
            let mut upstreams: Vec<(String, String)> = Vec::new();
            for line in block.lines() {
                let words: Vec<_> = line.split_whitespace().collect();
                let after = |flag: &str| {
                    let at = words.iter().position(|word| *word == flag)?;
                    words.get(at + 1).map(|word| (*word).to_owned())
                };
                if let Some(url) = after("--upstream") {
                    let listen = after("--listen");
                    let listen = listen.unwrap_or_else(|| "127.0.0.1:8787".to_owned());
                    upstreams.push((listen, url));
                }
                let own = [
                    ("OPENAI_BASE_URL", "openai"),
                    ("ANTHROPIC_BASE_URL", "anthropic"),
                ];
                for (variable, provider) in own {
                    let Some((_, url)) = line.split_once(&format!("export {variable}=http://"))
                    else {
                        continue;
                    };
                    let address = url.split('/').next().unwrap();
                    let last = upstreams.iter().rev().find(|(listen, _)| listen == address);
                    if let Some((_, upstream)) = last {
                        assert!(
                            upstream.contains(provider),
                            "{name}: {line} leads to {upstream}"
                        );
                        found += 1;
                    }
                }
            }
        }
    }
    assert!(found >= 3, "the documents show how to set a base URL");
}
