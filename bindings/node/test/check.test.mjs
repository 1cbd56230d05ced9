import { createRequire } from 'node:module'
import { inspect, isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import * as v from 'valibot'
import { Type } from 'typebox'
import { type } from 'arktype'
import { z } from 'zod'
import { GoodcallError, Tools } from 'goodcall'
import { definitions, schema } from './tools.mjs'

const tools = new Tools(definitions)

describe('check', () => {
  it('leaves valid arguments as they are', () => {
    const raw = '{"file_path": "a.txt", "limit": 20}'
    expect(tools.check('read_file', raw)).toEqual({
      kind: 'good',
      tool: 'read_file',
      arguments: { file_path: 'a.txt', limit: 20 },
      json: raw,
      changes: [],
      issues: [],
    })
    const value = { file_path: 'a.txt' }
    expect(tools.check('read_file', value).arguments).toBe(value)
  })

  it('builds the values that JSON.parse makes', () => {
    const properties = { a: { type: 'object', properties: { b: { type: 'array' } } }, '7': {}, '': {} }
    const named = new Tools([{ name: 'f', parameters: { type: 'object', properties } }])
    const open = new Tools([{ name: 'f', parameters: { type: 'object' } }])
    const inherited = new Tools([{ name: 'f', parameters: { type: 'object', properties: { constructor: {}, __proto__: {} } } }])
    const texts = [
      '{}',
      '{"a":{"b":[]},"x":{},"7":"","":null}',
      '{"a":{"b":[true,false,null,0,-0,7,-7,268435455,268435456,99999999,100000000,1.5,-0.25,123456789012345,1234567890123456]}}',
      '{"a":{"b":["\\n","\\"","\\u0041","plain","\\u00e9"],"a":{"b":[[[{"a":{}}]]]}}}',
      '{"z":1,"a":{"c":"\\/"},"y":[{"a":1},{"b":2}]}',
      '{"__proto__":{"polluted":1},"constructor":"x","toString":[],"a":{"__proto__":null}}',
      '{"a":{"b":["ä"]}}',
      `{"a":{"b":["${'x'.repeat(5000)}"]}}`,
      `{"a":{"b":["${'\\n'.repeat(2000)}"]}}`,
      `{"a":{"b":[${Array.from({ length: 2500 }, (_, at) => at % 7).join(',')}]}}`,
    ]
    for (const by of [named, open, inherited]) {
      for (const text of texts) {
        const verdict = by.check('f', text)
        expect(verdict.kind).toBe('good')
        expect(isDeepStrictEqual(verdict.arguments, JSON.parse(text)), text).toBe(true)
        expect(Object.getPrototypeOf(verdict.arguments)).toBe(Object.prototype)
        const mended = by.check('f', `\`\`\`\n${text}\n\`\`\``)
        expect(isDeepStrictEqual(mended.arguments, JSON.parse(text)), text).toBe(true)
        expect(isDeepStrictEqual(JSON.parse(mended.json), JSON.parse(text)), text).toBe(true)
        expect(mended.changes.map((change) => change.rule)).toEqual(['code-fence', 'code-fence'])
      }
    }
  })

  it('lists every change of a mended call', () => {
    const verdict = tools.check('read_file', '{"filePath": "a.txt", "limit": "20", "tags": "[\\"x\\"]",}')
    expect(verdict.kind).toBe('mended')
    expect(verdict.arguments).toEqual({ file_path: 'a.txt', limit: 20, tags: ['x'] })
    expect(JSON.parse(verdict.json)).toEqual(verdict.arguments)
    expect(verdict.changes.map((change) => change.rule).sort()).toEqual([
      'key-style',
      'string-to-number',
      'stringified',
      'trailing-comma',
    ])
    const change = verdict.changes.find((one) => one.rule === 'string-to-number')
    expect(change).toMatchObject({ level: 'safe', path: '/limit', before: '20', after: 20 })
  })

  it('copies, writes and prints a mended call with its changes', () => {
    const check = () => tools.check('read_file', '{"file_path": "ä", "limit": "20"}')
    const changes = [{ rule: 'string-to-number', level: 'safe', path: '/limit', before: '20', after: 20, span: [28, 32] }]
    const plain = { kind: 'mended', tool: 'read_file', arguments: { file_path: 'ä', limit: 20 }, json: '{"file_path":"ä","limit":20}', changes, issues: [] }
    expect({ ...check() }).toStrictEqual(plain)
    expect(structuredClone(check())).toStrictEqual(plain)
    expect(JSON.stringify(check())).toBe(JSON.stringify(plain))
    expect(inspect(check())).toBe(inspect(plain))
    expect(new Proxy(check(), {}).changes).toEqual(changes)
    const verdict = check()
    expect(verdict.changes).toBe(verdict.changes)
  })

  it('says what to rewrite in a bad call', () => {
    const verdict = tools.check('read_file', '{"limit": 5000}')
    expect(verdict).toMatchObject({ kind: 'bad', reason: 'wrong_shape' })
    expect(verdict.arguments).toBeUndefined()
    expect(verdict.issues.map((issue) => [issue.path, issue.code])).toEqual([
      ['/limit', 'too_large'],
      ['/file_path', 'missing'],
    ])
    for (const word of ['read_file', 'limit', '2000', 'file_path']) expect(verdict.text).toContain(word)
  })

  it('names an unknown tool and the nearest one', () => {
    const verdict = tools.check('raed_file', '{}')
    expect(verdict).toMatchObject({ kind: 'bad', reason: 'unknown_tool' })
    expect(verdict.issues[0].nearest).toBe('read_file')
    expect(tools.check('functions.read_file', '{"file_path": "a"}')).toMatchObject({ kind: 'mended', tool: 'read_file' })
  })

  it('never takes cut-off arguments for a call', () => {
    expect(tools.check('read_file', '{"file_path": "a.t').reason).toBe('truncated')
    expect(tools.check('read_file', '{"file_path": "a"').reason).toBe('truncated')
    expect(tools.check('read_file', '{"file_path": "a"', { stop: 'finished' }).kind).toBe('mended')
    expect(tools.check('read_file', '{"file_path": "a"', { stop: 'cut_off' }).kind).toBe('bad')
  })

  it('takes no arguments for an empty object where that is valid', () => {
    const now = new Tools({ name: 'now', parameters: { type: 'object' } })
    expect(now.check('now', '')).toMatchObject({ kind: 'mended', arguments: {} })
    expect(now.check('now', undefined)).toMatchObject({ kind: 'mended', arguments: {} })
    expect(tools.check('read_file', '').reason).toBe('empty')
  })

  it('counts places in the string, whatever its characters', () => {
    const raw = '{"file_path": "äöü😀", "limit": "20"}'
    const [{ span }] = tools.check('read_file', raw).changes
    expect(raw.slice(...span)).toBe('"20"')
  })

  it('gives the same verdict off the main thread', async () => {
    for (const raw of ['{"file_path": "a"}', '{"filePath": "a"}', '{"limit": 0}']) {
      expect(await tools.checkAsync('read_file', raw)).toEqual(tools.check('read_file', raw))
    }
    await expect(tools.checkAsync('read_file', '{}', { stop: 'soon' })).rejects.toMatchObject({ code: 'bad_option' })
  })

  it('finds the same calls in text off the main thread', async () => {
    const text = 'Öffne.\n<tool_call>{"name": "read_file", "arguments": {"filePath": "ä"}}</tool_call>'
    expect(await tools.extractAsync(text)).toEqual(tools.extract(text))
    await expect(tools.extractAsync(text, { where: 'here' })).rejects.toMatchObject({ name: 'GoodcallError', code: 'bad_option' })
  })

  it('does not block the main thread with a large call', async () => {
    const tags = Array.from({ length: 200_000 }, (_, index) => `tag ${index}`)
    const raw = JSON.stringify({ file_path: 'a', tags, limit: '5' })
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    const verdict = await tools.checkAsync('read_file', raw)
    clearInterval(timer)
    expect(verdict.kind).toBe('mended')
    expect(turns).toBeGreaterThan(0)
  })
})

describe('numbers', () => {
  const ids = { name: 'f', parameters: { type: 'object', properties: { id: {}, ids: {} } } }
  const raw = '{"id": 12345678901234567890, "ids": [9007199254740991, 9007199254740993, -9007199254740993, 1.5, 1e3]}'

  it('are bigints beyond 2^53', () => {
    expect(new Tools(ids).check('f', raw).arguments).toEqual({
      id: 12345678901234567890n,
      ids: [9007199254740991, 9007199254740993n, -9007199254740993n, 1.5, 1000],
    })
  })

  it('are text on request', () => {
    const { arguments: found } = new Tools(ids, { numbers: 'text' }).check('f', raw)
    expect(found.id).toBe('12345678901234567890')
    expect(found.ids[1]).toBe('9007199254740993')
  })

  it('are integers with a point or an exponent, too', () => {
    const written = '{"id": 12345678901234567.0, "ids": [-1.2345678901234567891e19, 1e23, 1.5e300, 0.12345678901234567]}'
    expect(new Tools(ids).check('f', written).arguments).toEqual({
      id: 12345678901234567n,
      ids: [-12345678901234567891n, 1e23, 1.5e300, 0.12345678901234567],
    })
    expect(new Tools(ids, { numbers: 'text' }).check('f', written).arguments.id).toBe('12345678901234567.0')
  })

  it('are never infinite', () => {
    expect(new Tools(ids).check('f', '{"id": 1e400}').arguments).toEqual({ id: '1e400' })
  })

  it('keep their digits in changes, too', () => {
    const tool = { name: 'f', parameters: { type: 'object', properties: { id: { type: 'integer' } } } }
    const verdict = new Tools(tool).check('f', '{"id": "12345678901234567890"}')
    expect(verdict.arguments).toEqual({ id: 12345678901234567890n })
    expect(verdict.changes[0]).toMatchObject({ before: '12345678901234567890', after: 12345678901234567890n })
    expect(verdict.json).toBe('{"id":12345678901234567890}')
  })

  it('are taken as bigints, too', () => {
    const verdict = new Tools(ids).check('f', { id: 12345678901234567890n, ids: ['1'] })
    expect(verdict).toMatchObject({ kind: 'good', json: '{"id":12345678901234567890,"ids":["1"]}' })
  })

  it('inside strings stay strings', () => {
    const { arguments: found } = new Tools(ids).check('f', '{"id": "1234567890123456789 and \\"5e9\\""}')
    expect(found).toEqual({ id: '1234567890123456789 and "5e9"' })
  })
})

describe('definitions', () => {
  const parameters = schema
  it.each([
    ['OpenAI', [{ type: 'function', function: { name: 'read_file', parameters } }]],
    ['OpenAI Responses', [{ type: 'function', name: 'read_file', parameters }]],
    ['Anthropic', { tools: [{ name: 'read_file', input_schema: parameters }] }],
    ['Gemini', [{ functionDeclarations: [{ name: 'read_file', parameters }] }]],
    ['MCP', { tools: [{ name: 'read_file', inputSchema: parameters }] }],
    ['a record of schemas', { read_file: z.object({ file_path: z.string(), limit: z.int().optional() }) }],
    ['a record of tools', { read_file: { description: 'd', inputSchema: parameters } }],
    ['JSON text', JSON.stringify([{ name: 'read_file', parameters }])],
    ['Zod', [{ name: 'read_file', parameters: z.object({ file_path: z.string(), limit: z.int().optional() }) }]],
    [
      'Valibot',
      [{ name: 'read_file', parameters: v.object({ file_path: v.string(), limit: v.optional(v.pipe(v.number(), v.integer())) }) }],
    ],
    [
      'TypeBox',
      [{ name: 'read_file', parameters: Type.Object({ file_path: Type.String(), limit: Type.Optional(Type.Integer()) }) }],
    ],
    ['ArkType', [{ name: 'read_file', parameters: type({ file_path: 'string', 'limit?': 'number.integer' }) }]],
  ])('of %s are read', (_, offered) => {
    const read = new Tools(offered)
    expect(read.names).toEqual(['read_file'])
    const verdict = read.check('read_file', '{"filePath": "a", "limit": "5"}')
    expect(verdict).toMatchObject({ kind: 'mended', arguments: { file_path: 'a', limit: 5 } })
  })

  it.each([
    [5, 'bad_tools', /5 is not a tool definition/],
    [[{ name: 'f', parameters: { type: 'objekt' } }], 'bad_schema', /`f`.*objekt/],
    [[{ name: 'f', parameters: z.object({ at: z.date() }) }], 'bad_schema', /^zod: /],
  ])('that cannot be read throw a GoodcallError', (wrong, code, message) => {
    expect(() => new Tools(wrong)).toThrow(GoodcallError)
    expect(() => new Tools(wrong)).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }))
  })
})

describe('options', () => {
  it('choose a policy for all tools and for single ones', () => {
    const raw = '{"file_path": "a", "limit": "5"}'
    expect(new Tools(definitions, { policy: 'strict' }).check('read_file', raw).kind).toBe('bad')
    expect(new Tools(definitions, { policy: 'safe,-string-to-number' }).check('read_file', raw).kind).toBe('bad')
    const policy = { level: 'eager', tools: { read_file: 'strict' } }
    expect(new Tools(definitions, { policy }).check('read_file', raw).kind).toBe('bad')
  })

  it('are strict for destructive tools', () => {
    const offered = [{ name: 'drop', inputSchema: schema, annotations: { destructiveHint: true } }]
    expect(new Tools(offered).check('drop', '{"filePath": "a"}').kind).toBe('bad')
    expect(new Tools(offered, { policy: { tools: { drop: 'safe' } } }).check('drop', '{"filePath": "a"}').kind).toBe('mended')
  })

  it('choose the style of the text', () => {
    const verdict = new Tools(definitions, { style: 'structured' }).check('read_file', '{}')
    expect(JSON.parse(verdict.text)).toMatchObject({ ok: false })
  })

  it.each([
    [{ policy: 'lax' }, 'unknown policy `lax`: expected strict, safe or eager'],
    [{ style: 'loud' }, expect.stringContaining('unknown style `loud`')],
    [{ numbers: 'float' }, 'unknown numbers `float`: expected bigint, text or number'],
    [{ colour: 'red' }, expect.stringContaining('unknown field `colour`')],
  ])('that are unknown throw', (options, message) => {
    expect(() => new Tools(definitions, options)).toThrow(expect.objectContaining({ code: 'bad_option', message }))
  })
})

describe('extract', () => {
  it('finds calls in text', () => {
    const text = 'Ich öffne es.\n<tool_call>{"name": "read_file", "arguments": {"file_path": "a", "limit": "5"}}</tool_call>'
    const found = tools.extract(text)
    expect(found.text).toBe('Ich öffne es.\n')
    expect(found.calls).toHaveLength(1)
    expect(found.calls[0]).toMatchObject({ name: 'read_file', kind: 'mended', arguments: { file_path: 'a', limit: 5 } })
    expect(text.slice(...found.calls[0].span)).toContain('"read_file"')
    expect(text.slice(...found.calls[0].changes[0].span)).toBe('"5"')
  })

  it('keeps thoughts apart', () => {
    expect(tools.extract('<think>Where is it?</think>Here.')).toEqual({ calls: [], text: 'Here.', reasoning: 'Where is it?' })
  })

  it('finds calls in prose only on request', () => {
    const text = "I call read_file(file_path='a') now."
    expect(tools.extract(text).calls).toEqual([])
    expect(tools.extract(text, { where: 'anywhere' }).calls[0].arguments).toEqual({ file_path: 'a' })
    expect(() => tools.extract(text, { where: 'here' })).toThrow(expect.objectContaining({ code: 'bad_option' }))
  })
})

it('require and import give the same objects', () => {
  const required = createRequire(import.meta.url)('goodcall')
  expect(required.Tools).toBe(Tools)
  expect(required.GoodcallError).toBe(GoodcallError)
})
