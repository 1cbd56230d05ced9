// What the table of six bad calls does not show.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { tool as agentsTool } from '@openai/agents'
import { AIMessage, ToolMessage, createAgent, tool as langChainTool } from 'langchain'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { z } from 'zod'
import { goodClient, goodTool, goodValidator, langChainMiddleware } from 'goodcall'
import { schema } from './tools.mjs'

/** A client of MCP whose server changes its tools. */
function client(...lists) {
  const sent = []
  let listed = 0
  return {
    sent,
    get listed() {
      return listed
    },
    async listTools(params) {
      const list = lists[Math.min(listed++, lists.length - 1)]
      if (!Array.isArray(list[0])) return { tools: list }
      const page = Number(params?.cursor ?? 0)
      return { tools: list[page], nextCursor: page + 1 < list.length ? String(page + 1) : undefined }
    },
    async callTool(params, ...others) {
      sent.push([params, ...others])
      return { content: [] }
    },
    ping: async () => 'pong',
  }
}

const read = { name: 'read_file', inputSchema: schema }

describe('goodClient', () => {
  it('sends good calls as they are, with one look at the tools', async () => {
    const inner = client([read])
    const wrapped = goodClient(inner)
    const params = { name: 'read_file', arguments: { file_path: 'a' } }
    await wrapped.callTool(params, 'options')
    await wrapped.callTool(params)
    expect(inner.sent).toEqual([[params, 'options'], [params]])
    expect(inner.listed).toBe(1)
    expect(await wrapped.ping()).toBe('pong')
  })

  it('mends calls, and keeps what else was sent', async () => {
    const inner = client([read])
    await goodClient(inner).callTool({ name: 'read_file', arguments: { filePath: 'a' }, _meta: { x: 1 } })
    expect(inner.sent).toEqual([[{ name: 'read_file', arguments: { file_path: 'a' }, _meta: { x: 1 } }]])
  })

  it('refuses calls only by the present list of tools', async () => {
    const open = { name: 'read_file', inputSchema: { type: 'object' } }
    const inner = client([read], [open])
    await goodClient(inner).callTool({ name: 'read_file', arguments: { limit: 5000 } })
    expect(inner.sent).toHaveLength(1)
    const refused = await goodClient(client([read])).callTool({ name: 'read_file', arguments: { limit: 5000 } })
    expect(refused.isError).toBe(true)
    expect(refused.content[0].text).toContain('2000')
  })

  it('reads all pages of the list', async () => {
    const inner = client([[read], [{ name: 'other', inputSchema: { type: 'object' } }]])
    await goodClient(inner).callTool({ name: 'other' })
    expect(inner.sent).toEqual([[{ name: 'other' }]])
  })

  it('sends calls of a tool whose schema cannot be used, and checks those of the others', async () => {
    const inner = client([{ name: 'odd', inputSchema: { type: 'objekt' } }, read])
    const wrapped = goodClient(inner)
    await wrapped.callTool({ name: 'odd', arguments: { a: 1 } })
    await wrapped.callTool({ name: 'read_file', arguments: { filePath: 'a' } })
    expect(inner.sent.map(([params]) => params.arguments)).toEqual([{ a: 1 }, { file_path: 'a' }])
  })

  it('sends calls of a server without tools', async () => {
    const inner = client([])
    await goodClient(inner).callTool({ name: 'hidden', arguments: {} })
    expect(inner.sent).toHaveLength(1)
  })
})

describe('goodTool', () => {
  const weather = (execute) =>
    agentsTool({ name: 'weather', description: 'd', parameters: z.object({ city: z.string(), days: z.int().min(1).nullable().optional() }), execute })

  it('accepts what a strict tool accepts itself', async () => {
    const ran = []
    const wrapped = goodTool(weather((input) => ran.push(input)))
    for (const raw of ['{"city": "Oslo"}', '{"city": "Oslo", "days": null}', '{"City": "Oslo", "days": "3"}']) {
      await wrapped.invoke(undefined, raw)
    }
    expect(ran).toEqual([{ city: 'Oslo' }, { city: 'Oslo', days: null }, { city: 'Oslo', days: 3 }])
  })

  it('is the same tool otherwise', () => {
    const tool = weather(() => {})
    const { invoke, ...others } = goodTool(tool)
    expect(invoke).not.toBe(tool.invoke)
    expect(others).toEqual(Object.fromEntries(Object.entries(tool).filter(([key]) => key !== 'invoke')))
  })
})

describe('langChainMiddleware', () => {
  class TwoCalls extends BaseChatModel {
    turns = 0
    constructor(message) {
      super({})
      this.message = message
    }
    _llmType() {
      return 'scripted'
    }
    bindTools() {
      return this
    }
    async _generate() {
      const message = this.turns++ === 0 ? this.message : new AIMessage('Done.')
      return { generations: [{ text: '', message }] }
    }
  }
  const call = (id, args, name = 'weather') => ({ type: 'tool_call', id, name, args })

  async function run(message) {
    const ran = []
    const seen = []
    const weather = langChainTool(async (input) => void ran.push(input), {
      name: 'weather',
      description: 'd',
      schema: z.object({ city: z.string() }),
    })
    const middleware = [langChainMiddleware({ onVerdict: (verdict) => seen.push(verdict.kind) })]
    const agent = createAgent({ model: new TwoCalls(message), tools: [weather], middleware })
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Go.' }] })
    return { ran, seen, results: messages.filter((one) => ToolMessage.isInstance(one)) }
  }

  it('answers every call of a message, parsed or not', async () => {
    const unparsed = (id, args) => ({ type: 'invalid_tool_call', id, name: 'weather', args, error: 'not JSON' })
    const message = new AIMessage({
      content: '',
      tool_calls: [call('a', { city: 'Oslo' }), call('b', { City: 'Rome' }), call('c', {})],
      invalid_tool_calls: [unparsed('d', "{'city': 'Bern'}"), unparsed('e', '{"city": "Par')],
    })
    const { ran, results } = await run(message)
    expect(ran.map((input) => input.city).sort()).toEqual(['Bern', 'Oslo', 'Rome'])
    const texts = Object.fromEntries(results.map((one) => [one.tool_call_id, one.content]))
    expect(Object.keys(texts).sort()).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(texts.c).toContain('city')
    expect(texts.e).toContain('cut off')
  })

  it('judges calls by the tools of their own agent where several share it', async () => {
    const middleware = langChainMiddleware()
    const tool = (name, key) => ({ name, schema: { type: 'object', properties: { [key]: { type: 'string' } }, required: [key] } })
    const [weather, time] = [tool('weather', 'city'), tool('time', 'zone')]
    for (const one of [weather, time]) await middleware.wrapModelCall({ tools: [one] }, async () => new AIMessage('Hello.'))
    const handler = async (request) => request.toolCall.args
    const run = (one, args) => middleware.wrapToolCall({ tool: one, toolCall: { id: 'c', name: one.name, args } }, handler)
    expect(await run(weather, { City: 'Oslo' })).toEqual({ city: 'Oslo' })
    expect(await run(time, { zone: 'UTC' })).toEqual({ zone: 'UTC' })
  })

  it('mends the name of a tool, and refuses an unknown one with the nearest', async () => {
    const message = new AIMessage({ content: '', tool_calls: [call('a', { city: 'Oslo' }, 'functions.weather'), call('b', {}, 'wheather')] })
    const { ran, results, seen } = await run(message)
    expect(ran).toEqual([{ city: 'Oslo' }])
    expect(seen.sort()).toEqual(['bad', 'mended'])
    expect(results.find((one) => one.tool_call_id === 'b').content).toContain('`weather`')
  })
})

it('goodValidator gives the text for the model', () => {
  const validate = goodValidator().getValidator(schema)
  expect(validate({ filePath: 'a' })).toEqual({ valid: true, data: { file_path: 'a' }, errorMessage: undefined })
  expect(validate({}).errorMessage).toContain('file_path')
})

it('the plugin for opencode in docs/hook.md mends and refuses calls of its server', async () => {
  const folder = new URL('../target/plugin/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  const document = readFileSync(new URL('../../../docs/hook.md', import.meta.url), 'utf8')
  writeFileSync(new URL('goodcall.mjs', folder), /^```js\n([^]*?)^```$/m.exec(document)[1])
  writeFileSync(new URL('tools.json', folder), JSON.stringify({ tools: [read] }))
  const { Goodcall } = await import(new URL('goodcall.mjs', folder))
  const before = (await Goodcall())['tool.execute.before']

  // opencode looks at this object, and not at another one that is put in its place.
  const args = { filePath: 'a' }
  await before({ tool: 'files_read_file' }, { args })
  expect(args).toEqual({ file_path: 'a' })
  await expect(before({ tool: 'files_read_file' }, { args: { limit: 5000 } })).rejects.toThrow('2000')
  const other = { args: { filePath: 'a' } }
  await before({ tool: 'other_read_file' }, other)
  expect(other.args).toEqual({ filePath: 'a' })
})
