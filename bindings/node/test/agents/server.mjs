// An MCP server on standard input that validates nothing: `server.mjs LOG TOOLS`. It writes the arguments of
// each call into LOG, one line for each.

import { appendFileSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [log, tools] = process.argv.slice(2)

/** What each method is answered with. */
const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'files', version: '1' },
  }),
  'tools/list': () => JSON.parse(readFileSync(tools, 'utf8')),
  'tools/call': (params) => {
    appendFileSync(log, `${JSON.stringify(params.arguments)}\n`)
    return { content: [{ type: 'text', text: 'done' }] }
  },
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const result = methods[method]?.(params) ?? {}
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
})
