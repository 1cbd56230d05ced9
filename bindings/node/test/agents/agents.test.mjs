// Runs the six bad calls in the coding agents themselves, with the hook as docs/hook.md shows it, and writes
// the table there: `.ci/agents`. The model is a server here that answers by a script; the MCP server
// validates nothing.

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll } from 'vitest'
import { scriptedFetch } from '../scripted.mjs'
import { name, sixCalls } from '../six-calls.mjs'
import { schema } from '../tools.mjs'

/** Where the agents are installed, and the command of goodcall. */
const { GOODCALL_AGENTS: agents, GOODCALL_COMMAND: command } = process.env
const home = join(import.meta.dirname, '../..')
const scratch = mkdtempSync(join(tmpdir(), 'goodcall-agents-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const { additionalProperties, ...inputSchema } = schema
const tools = join(scratch, 'tools.json')
writeFileSync(tools, JSON.stringify({ tools: [{ name, description: 'Reads a file', inputSchema }] }))
const document = readFileSync(join(home, '../../docs/hook.md'), 'utf8')

/** The settings that docs/hook.md shows, with the files of this test and these words after `hook`. */
function hooks(words) {
  const [, settings] = /^```json\n([^]*?)^```$/m.exec(document)
  const line = settings.replace('goodcall hook claude-code', `${command} hook ${words}`)
  return JSON.parse(line.replace('tools.json', tools))
}

/** Serves the replies of a script over HTTP, and something short to all that is not about the tool. */
async function served(script, isAsked) {
  const server = createServer(async (request, response) => {
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    const body = Buffer.concat(pieces).toString()
    const fetch = isAsked(body) ? script : scriptedFetch('Read.')
    const reply = await fetch(`http://localhost${request.url.split('?')[0]}`, { body: body || '{}' })
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') })
    response.end(await reply.text())
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

/** Runs an agent in a folder of its own. `prepare` writes its files and returns its words and variables. */
async function run(agent, { raw, execute, called, prepare, told }) {
  const folder = mkdtempSync(join(scratch, `${agent}-`))
  const log = join(folder, 'calls.jsonl')
  const script = scriptedFetch({ ...called, arguments: raw }, 'Done.')
  const server = await served(script, (body) => body.includes('Reads a file'))
  const address = `http://127.0.0.1:${server.address().port}`
  const mcp = { command: process.execPath, args: [join(import.meta.dirname, 'server.mjs'), log, tools] }
  const { words, env } = prepare({ folder, address, mcp })
  const options = { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, ...env }, timeout: 120_000 }
  try {
    const running = promisify(execFile)(join(agents, 'node_modules/.bin', agent), words, options)
    running.child.stdin.end()
    await running
  } finally {
    server.close()
  }
  if (existsSync(log)) await execute(JSON.parse(readFileSync(log, 'utf8').split('\n')[0]))
  return told(script.requests.at(-1).body)
}

function claudeCode(raw, execute, hooks = {}) {
  const prepare = ({ folder, address, mcp }) => {
    writeFileSync(join(folder, 'mcp.json'), JSON.stringify({ mcpServers: { files: mcp } }))
    writeFileSync(join(folder, 'settings.json'), JSON.stringify(hooks))
    const files = ['--strict-mcp-config', '--mcp-config', 'mcp.json', '--settings', 'settings.json']
    return {
      words: ['--print', 'Read.', ...files, '--allowedTools', `mcp__files__${name}`],
      env: {
        ANTHROPIC_BASE_URL: address,
        ANTHROPIC_API_KEY: 'key',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        // On a busy machine the server takes a while to start.
        MCP_TIMEOUT: '60000',
        MCP_CONNECTION_NONBLOCKING: '0',
      },
    }
  }
  const told = ({ messages }) => textOf(messages.at(-1).content.find((block) => block.type === 'tool_result')?.content)
  return run('claude', { raw, execute, called: { name: `mcp__files__${name}` }, prepare, told })
}

function codex(raw, execute, hooks) {
  const prepare = ({ folder, address, mcp }) => {
    const provider = { name: 'scripted', base_url: `${address}/v1`, wire_api: 'responses' }
    const config = [
      'model = "m"\nmodel_provider = "scripted"',
      `[model_providers.scripted]\n${lines(provider)}`,
      `[mcp_servers.files]\n${lines({ ...mcp, default_tools_approval_mode: 'approve' })}`,
    ]
    mkdirSync(join(folder, 'codex'))
    writeFileSync(join(folder, 'codex/config.toml'), `${config.join('\n')}\n`)
    if (hooks) writeFileSync(join(folder, 'codex/hooks.json'), JSON.stringify(hooks))
    const words = ['exec', '--skip-git-repo-check', '--dangerously-bypass-hook-trust', '--sandbox', 'read-only', 'Read.']
    return { words, env: { CODEX_HOME: join(folder, 'codex') } }
  }
  const told = ({ input }) => {
    const said = textOf(input.findLast((item) => item.type === 'function_call_output')?.output)
    return said?.replace(/^Wall time: .*\nOutput:\n/, '')
  }
  return run('codex', { raw, execute, called: { name, namespace: 'mcp__files' }, prepare, told })
}

/** The lines of a table in TOML. */
const lines = (table) => Object.entries(table).map(([key, value]) => `${key} = ${JSON.stringify(value)}`).join('\n')

/** The text of a result, whether it is text or in parts. */
const textOf = (content) => (Array.isArray(content) ? content.map((part) => part.text ?? '').join('\n') : content)

const version = (path) => JSON.parse(readFileSync(join(agents, 'node_modules', path, 'package.json'))).version

sixCalls(
  [
    {
      title: `Claude Code ${version('@anthropic-ai/claude-code')}`,
      added: '`goodcall hook claude-code`',
      // It makes an empty object of a text that is not JSON before any hook sees it.
      takesValues: true,
      today: claudeCode,
      withGoodcall: (raw, execute) => claudeCode(raw, execute, hooks('claude-code --decision allow')),
    },
    {
      title: `Codex ${version('@openai/codex')}`,
      added: '`goodcall hook codex`',
      today: codex,
      withGoodcall: (raw, execute) => codex(raw, execute, hooks('codex')),
    },
  ],
  'docs/hook.md',
  'agents/agents.test.mjs',
)
