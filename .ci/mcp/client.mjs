// Has one conversation with the official TypeScript SDK: `client.mjs SERVER URL` or
// `client.mjs SERVER -- COMMAND`. SERVER is `everything` or `filesystem`; for the latter FOLDER
// names its folder. Prints one line per answer; the same server must give the same lines with and
// without a proxy.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as types from "@modelcontextprotocol/sdk/types.js";

const [kind, ...rest] = process.argv.slice(2);
const transport = rest[0] === "--"
  ? new StdioClientTransport({ command: rest[1], args: rest.slice(2), stderr: "ignore" })
  : new StreamableHTTPClientTransport(new URL(rest[0]));
const client = new Client(
  { name: "ci", version: "1" },
  { capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: { form: {} } } },
);
const asked = new Set();
client.setRequestHandler(types.ListRootsRequestSchema, () => { asked.add("roots"); return { roots: [] }; });
client.setRequestHandler(types.CreateMessageRequestSchema, () => {
  asked.add("sampling");
  return { role: "assistant", model: "none", content: { type: "text", text: "sampled" } };
});
client.setRequestHandler(types.ElicitRequestSchema, () => { asked.add("elicitation"); return { action: "decline" }; });
await client.connect(transport);

const say = async (what, answer) => {
  try { console.log(what, JSON.stringify(await answer)); } catch (error) { console.log(what, "error:", error.message); }
};
const call = (name, args, options) => say(name, client.callTool({ name, arguments: args }, undefined, options));

console.log("server", JSON.stringify(client.getServerVersion()), JSON.stringify(client.getServerCapabilities()));
await say("tools", client.listTools());
await say("ping", client.ping());
if (kind === "everything") {
  await say("prompts", client.listPrompts());
  await say("prompt", client.getPrompt({ name: "simple-prompt" }));
  await say("completion", client.complete({ ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "department", value: "E" } }));
  await say("templates", client.listResourceTemplates());
  await say("resources", client.listResources());
  await say("no method", client.request({ method: "no/such/method", params: { a: 1.50 } }, types.ResultSchema));
  await say("level", client.setLoggingLevel("error"));
  await call("echo", { message: "äöü \u2028 \u{1F600}" });
  await call("get-sum", { a: 1.5, b: 1e21 });
  await call("get-tiny-image", {});
  await call("get-annotated-message", { messageType: "error", includeImage: true });
  await call("get-structured-content", { location: "New York" });
  await call("get-resource-links", { count: 3 });
  let steps = 0;
  await call("trigger-long-running-operation", { duration: 0.3, steps: 3 }, { onprogress: () => { steps += 1; } });
  // The SDK drops the last notification if it reads it together with the answer.
  console.log("progress", steps > 0);
  await call("trigger-sampling-request", { prompt: "hi", maxTokens: 5 });
  await call("trigger-elicitation-request", {});
  await call("get-roots-list", {});
  const stop = new AbortController();
  setTimeout(() => stop.abort("enough"), 100);
  await call("trigger-long-running-operation", { duration: 5, steps: 2 }, { signal: stop.signal });
  console.log("asked", [...asked].sort());
} else {
  const folder = process.env.FOLDER;
  await call("list_allowed_directories", {});
  await call("write_file", { path: `${folder}/a.txt`, content: "one\ntwo\n" });
  await call("read_text_file", { path: `${folder}/a.txt`, head: 1 });
  await call("edit_file", { path: `${folder}/a.txt`, edits: [{ oldText: "one", newText: "1" }], dryRun: true });
  await call("list_directory", { path: folder });
  await call("read_text_file", { path: `${folder}/none.txt` });
}
const many = await Promise.all([...Array(20).keys()].map((n) => (kind === "everything"
  ? client.callTool({ name: "echo", arguments: { message: `${n}` } })
  : client.callTool({ name: "read_text_file", arguments: { path: `${process.env.FOLDER}/a.txt`, tail: n + 1 } }))));
console.log("many", JSON.stringify(many));
await client.close();
process.exit(0);
