import { describe, expect, it } from 'vitest'
import { generateText, isStepCount, jsonSchema, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai'
import { z } from 'zod'
import { goodMiddleware, goodTools, repairToolCall } from 'goodcall'
import { scriptedModel, told } from './model.mjs'
import { schema } from './tools.mjs'

const stopWhen = (isStepCount ?? stepCountIs)(2)
const call = (text, name = 'read_file') => ({ name, arguments: text })
const zod = z.object({ file_path: z.string(), limit: z.int().max(2000).optional(), tags: z.array(z.string()).optional() })

function toolset(inputSchema) {
  const ran = []
  const execute = async (input) => {
    ran.push(input)
    return 'done'
  }
  return { ran, tools: { read_file: tool({ description: 'Reads a file', inputSchema, execute }) } }
}

async function run(step, inputSchema, extra = {}, wrap = (tools) => tools) {
  const { ran, tools } = toolset(inputSchema)
  const model = scriptedModel([step, 'Done.'])
  await generateText({ model, prompt: 'Read it.', tools: wrap(tools), stopWhen, ...extra })
  return { ran, told: told(model.prompts) }
}

describe('repairToolCall', () => {
  const extra = { repairToolCall: repairToolCall() }

  it.each([
    ['broken JSON', "{'file_path': 'a',}", { file_path: 'a' }],
    ['a stringified array', '{"file_path": "a", "tags": "[\\"x\\"]"}', { file_path: 'a', tags: ['x'] }],
    ['a misspelt key', '{"filePath": "a"}', { file_path: 'a' }],
  ])('mends %s', async (_, text, input) => {
    expect((await run(call(text), zod, extra)).ran).toEqual([input])
    expect((await run(call(text), zod)).ran).toEqual([])
  })

  it('mends the name of a tool', async () => {
    expect((await run(call('{"file_path": "a"}', 'functions.read_file'), zod, extra)).ran).toEqual([{ file_path: 'a' }])
  })

  it('tells the model what to rewrite', async () => {
    const result = await run(call('{"limit": 5000}'), zod, extra)
    expect(result.ran).toEqual([])
    for (const word of ['file_path', '2000']) expect(result.told).toContain(word)
    expect(result.told).not.toContain('Type validation failed')
  })

  it('leaves the errors of refinements as they are', async () => {
    const refined = zod.refine((value) => value.file_path !== 'b', 'b is secret')
    const result = await run(call('{"file_path": "b"}'), refined, extra)
    expect(result.ran).toEqual([])
    expect(result.told).toContain('b is secret')
  })

  it('works in streamText', async () => {
    const { ran, tools } = toolset(zod)
    const model = scriptedModel([call('{"filePath": "a"}'), 'Done.'])
    await streamText({ model, prompt: 'Read it.', tools, stopWhen, ...extra }).consumeStream()
    expect(ran).toEqual([{ file_path: 'a' }])
  })

  it('reports verdicts, and refuses wrong options at once', async () => {
    const seen = []
    await run(call('{"filePath": "a"}'), zod, { repairToolCall: repairToolCall({ onVerdict: (one) => seen.push(one.kind) }) })
    expect(seen).toEqual(['mended'])
    expect(() => repairToolCall({ policy: 'lax' })).toThrow('unknown policy `lax`')
  })
})

describe('goodTools', () => {
  // What an MCP client of the AI SDK returns: a JSON Schema that nothing validates.
  const mcp = jsonSchema(schema)

  it('validates tools that the AI SDK runs unvalidated', async () => {
    expect((await run(call('{"limit": "x", "bogus": 1}'), mcp)).ran).toEqual([{ limit: 'x', bogus: 1 }])
    const result = await run(call('{"limit": "x", "bogus": 1}'), mcp, {}, goodTools)
    expect(result.ran).toEqual([])
    for (const word of ['file_path', 'limit', 'bogus']) expect(result.told).toContain(word)
  })

  it('mends their inputs', async () => {
    const text = '{"filePath": "a", "tags": "[\\"x\\"]", "limit": null}'
    expect((await run(call(text), mcp, {}, goodTools)).ran).toEqual([{ file_path: 'a', tags: ['x'] }])
  })

  it('takes schemas of Zod, lazy ones and fetched ones', async () => {
    const fetched = jsonSchema(async () => schema)
    for (const inputSchema of [zod, () => mcp, fetched]) {
      expect((await run(call('{"filePath": "a"}'), inputSchema, {}, goodTools)).ran).toEqual([{ file_path: 'a' }])
      expect((await run(call('{"limit": 5000}'), inputSchema, {}, goodTools)).told).toContain('2000')
    }
  })

  it('works together with repairToolCall, for text that is not JSON', async () => {
    const extra = { repairToolCall: repairToolCall() }
    expect((await run(call("{'file_path': 'a'}"), mcp, extra, goodTools)).ran).toEqual([{ file_path: 'a' }])
  })
})

describe('goodMiddleware', () => {
  const text =
    '<think>The user wants a.</think>I look.\n<tool_call>{"name": "read_file", "arguments": {"file_path": "a", "limit": "5"}}</tool_call>'

  const wrapped = (steps, options) =>
    wrapLanguageModel({ model: scriptedModel(steps, options), middleware: goodMiddleware() })

  it('finds calls in text, and splits off reasoning', async () => {
    const { ran, tools } = toolset(mcpSchema())
    const result = await generateText({ model: wrapped([text, 'Done.']), prompt: 'Read it.', tools, stopWhen })
    expect(ran).toEqual([{ file_path: 'a', limit: 5 }])
    expect(result.steps[0].reasoningText).toBe('The user wants a.')
    expect(result.steps[0].text.trim()).toBe('I look.')
    expect(result.steps[0].finishReason).toBe('tool-calls')
  })

  it.each([1, 5, 1000])('does the same in streams, with pieces of %i characters', async (size) => {
    const { ran, tools } = toolset(mcpSchema())
    const result = streamText({ model: wrapped([text, 'Done.'], { size }), prompt: 'Read it.', tools, stopWhen })
    const steps = await result.steps
    expect(ran).toEqual([{ file_path: 'a', limit: 5 }])
    expect(steps[0].reasoningText).toBe('The user wants a.')
    expect(steps[0].text.trim()).toBe('I look.')
    expect(steps[0].finishReason).toBe('tool-calls')
    expect(steps[1].text).toBe('Done.')
  })

  it('mends real calls', async () => {
    const { ran, tools } = toolset(mcpSchema())
    const model = wrapped([call('{"filePath": "a",}'), 'Done.'])
    await generateText({ model, prompt: 'Read it.', tools, stopWhen })
    expect(ran).toEqual([{ file_path: 'a' }])
  })

  it('leaves text without calls alone', async () => {
    const plain = 'You could use <b>read_file</b> here, e.g. {"file_path": "a"} as input.'
    const { ran, tools } = toolset(mcpSchema())
    const result = await generateText({ model: wrapped([plain]), prompt: 'Read it.', tools, stopWhen })
    expect(result.text).toBe(plain)
    expect(ran).toEqual([])
    const streamed = streamText({ model: wrapped([plain]), prompt: 'Read it.', tools, stopWhen })
    expect(await streamed.text).toBe(plain)
  })
})

function mcpSchema() {
  return jsonSchema(schema)
}
