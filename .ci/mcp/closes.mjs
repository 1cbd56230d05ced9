// Opens and closes sessions with the official TypeScript SDK: `closes.mjs COUNT COMMAND...`.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [count, command, ...args] = process.argv.slice(2);
const session = async () => {
  const client = new Client({ name: "ci", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
  await client.close();
};
for (let done = 0; done < Number(count); done += 10) await Promise.all(Array.from({ length: 10 }, session));
