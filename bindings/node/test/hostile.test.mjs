// Values that no program should pass, and some do.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { GoodcallError, Stream, Tools, good, goodClient, goodFetch, goodMiddleware, goodTool, goodTools, goodValidator, langChainMiddleware, repairToolCall } from 'goodcall'
import { definitions } from './tools.mjs'

const tools = new Tools(definitions)
const open = new Tools([{ name: 'f', parameters: { type: 'object' } }])

const circular = {}
circular.self = circular
const throwing = {
  get file_path() {
    throw new RangeError('the disk is gone')
  },
}
const revoked = Proxy.revocable({}, {})
revoked.revoke()
let deep = {}
for (let level = 0; level < 20_000; level++) deep = { deep }

const code = (expected, message) =>
  expect.objectContaining({ name: 'GoodcallError', code: expected, ...(message && { message: expect.stringMatching(message) }) })

describe('arguments that cannot be written as JSON throw bad_argument', () => {
  it.each([
    ['a circular value', circular, /^the arguments cannot be written as JSON: .*circular/],
    ['a getter that throws', throwing, /^the arguments cannot be written as JSON: the disk is gone$/],
    ['a revoked proxy', revoked.proxy, /^the arguments cannot be written as JSON: .*revoked/],
    ['a toJSON that throws a string', { toJSON: () => { throw 'no' } }, /^the arguments cannot be written as JSON: no$/],
    ['a function', () => 1, /^expected arguments as text or as a value, got a value of type function$/],
    ['a symbol', Symbol('s'), /got a value of type symbol$/],
  ])('%s', async (_, raw, message) => {
    expect(() => tools.check('read_file', raw)).toThrow(code('bad_argument', message))
    await expect(tools.checkAsync('read_file', raw)).rejects.toEqual(code('bad_argument', message))
  })

  it('with the error of the value as its cause', () => {
    expect(() => tools.check('read_file', throwing)).toThrow(expect.objectContaining({ cause: expect.any(RangeError) }))
  })
})

describe('a value counts as its JSON', () => {
  const nullable = new Tools([{ name: 'f', parameters: { type: 'object', properties: { n: { type: ['number', 'null'] }, at: { type: 'string' }, list: { type: 'array' } } } }])

  it.each([
    ['a number that is none', { n: NaN }, { n: null }],
    ['a date', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
    ['a hole', { list: [1, , 2] }, { list: [1, null, 2] }],
    ['a map', { list: [new Map([[1, 2]])] }, { list: [{}] }],
  ])('%s', (_, raw, meant) => {
    const verdict = nullable.check('f', raw)
    expect(verdict.kind).toBe('good')
    expect(verdict.arguments).toStrictEqual(meant)
    expect(JSON.parse(verdict.json)).toStrictEqual(meant)
  })

  it('and plain values come out as they went in', () => {
    for (const raw of [{ n: 1 }, { n: undefined }, Object.create(null), runInNewContext('({ n: 1, list: [1] })'), { list: [10n] }]) {
      expect(nullable.check('f', raw).arguments).toBe(raw)
    }
  })
})

describe('strings', () => {
  it('with lone surrogates are judged, and come out as sent', () => {
    const raw = '{"file_path": "\ud800x\udc00"}'
    expect(tools.check('read_file', raw)).toMatchObject({ kind: 'good', json: raw, arguments: { file_path: '\ud800x\udc00' } })
    const mended = tools.check('read_file', '{"filePath": "😀\ud83d", "limit": "5"}')
    expect(mended.kind).toBe('mended')
    for (const { span } of mended.changes) expect(span[1]).toBeLessThanOrEqual(38)
  })

  it('with lone surrogates in a value are judged like those in a text', () => {
    const raw = { file_path: '\ud800 \\ud800 😀', '\ud83d': 1 }
    const verdict = open.check('f', raw)
    expect(verdict).toMatchObject({ kind: 'good', json: '{"file_path":"\ud800 \\\\ud800 😀","\ud83d":1}' })
    expect(verdict.arguments).toBe(raw)
  })

  it('that look like marks of numbers stay strings', () => {
    const raw = '{"a": "\\u0001\\u006e123", "b": "\\u0001n5", "c": 12345678901234567890}'
    expect(open.check('f', raw).arguments).toEqual({ a: '\u0001n123', b: '\u0001n5', c: 12345678901234567890n })
  })

  it('that are huge get a verdict', () => {
    expect(open.check('f', `{"a": "${'x'.repeat(1 << 20)}"}`).kind).toBe('good')
    expect(open.check('f', '['.repeat(1 << 20)).kind).toBe('bad')
    expect(open.check('f', `{"a": "${'x'.repeat(80 << 20)}"}`)).toMatchObject({ kind: 'bad', reason: 'too_large' })
  })

  it('of every length around the limit of the short way are judged alike', () => {
    for (let length = 5440; length < 5470; length++) {
      for (const character of ['x', 'ä', '€', '😀']) {
        const path = character.repeat(Math.ceil(length / character.length))
        const verdict = tools.check('read_file', `{"filePath": "${path}"}`)
        expect(verdict.arguments).toEqual({ file_path: path })
      }
    }
  })
})

describe('objects', () => {
  it('with dangerous keys stay data', () => {
    const verdict = open.check('f', '{"__proto__": {"polluted": true}, "constructor": 1, "id": 12345678901234567890}')
    expect(Object.keys(verdict.arguments)).toEqual(['__proto__', 'constructor', 'id'])
    expect(Object.getPrototypeOf(verdict.arguments)).toBe(Object.prototype)
    expect({}.polluted).toBeUndefined()
    expect(open.check('f', verdict.arguments).json).toBe('{"__proto__":{"polluted":true},"constructor":1,"id":12345678901234567890}')
  })

  it('that are nested deeply are refused', () => {
    expect(() => open.check('f', deep)).toThrow(code('bad_argument', /Maximum call stack/))
    expect(open.check('f', `{"a": ${'['.repeat(300)}${']'.repeat(300)}}`)).toMatchObject({ kind: 'bad', reason: 'too_large' })
  })

  it('behind proxies are judged by what they show', () => {
    const shown = new Proxy({}, { ownKeys: () => ['file_path'], getOwnPropertyDescriptor: () => ({ value: 'a', enumerable: true, configurable: true }), get: (_, key) => (key === 'file_path' ? 'a' : undefined) })
    expect(tools.check('read_file', shown).kind).toBe('good')
  })
})

describe('wrong arguments of functions throw a GoodcallError', () => {
  it.each([
    ['name', () => tools.check(undefined, '{}'), 'bad_argument', /^name: expected a string, got undefined$/],
    ['name', () => tools.check({ toString: () => 'read_file' }, '{}'), 'bad_argument', /^name: expected a string, got a value of type object$/],
    ['text', () => tools.extract(5), 'bad_argument', /^text: expected a string, got the number 5$/],
    ['where', () => tools.extract('', { where: 5 }), 'bad_option', /^where: expected a string, got the number 5$/],
    ['stop', () => tools.check('read_file', '{}', { stop: 5 }), 'bad_option', /^unknown stop reason `5`/],
    ['stop', () => tools.extract('', { stop: 'soon' }), 'bad_option', /^unknown stop reason `soon`: expected unknown, finished or cut_off$/],
    ['options', () => new Tools(definitions, 'eager'), 'bad_option', /^expected options as an object, got a value of type string$/],
    ['options', () => new Tools(definitions, { policy: 5n }), 'bad_option', /^the options cannot be written as JSON: /],
    ['definitions', () => new Tools(undefined), 'bad_tools', /^expected tool definitions, got undefined$/],
    ['definitions', () => new Tools(() => {}), 'bad_tools', /^expected tool definitions, got a value of type function$/],
    ['definitions', () => new Tools(circular), 'bad_tools', /^the definitions cannot be written as JSON: /],
    ['definitions', () => new Tools([throwing]), 'bad_tools', /^the definitions cannot be written as JSON: the disk is gone$/],
    ['event', () => new Stream(tools).push(circular), 'bad_event', /^the event cannot be written as JSON: /],
    ['event', () => new Stream(tools).push(undefined), 'bad_event', /^expected an event, got undefined$/],
    ['text of a stream', () => new Stream(tools).pushText(null), 'bad_argument', /^text: expected a string, got null$/],
    ['provider', () => new Stream(tools, { provider: 5 }), 'bad_option', /^provider: expected a string, got the number 5$/],
    ['textCalls', () => new Stream(tools, { textCalls: 5 }), 'bad_option', /^textCalls: expected a string, got the number 5$/],
    ['schema', () => good(5), 'bad_schema', /^expected a schema, got 5$/],
    ['fetch options', () => goodFetch({ reasks: 2n }), 'bad_option', /^the options cannot be written as JSON: /],
    ['fetch options', () => goodFetch({ reasks: -1 }), 'bad_option', undefined],
  ])('%s', (_, run, expected, message) => {
    expect(run).toThrow(GoodcallError)
    expect(run).toThrow(code(expected, message))
  })

  it.each([
    ['Tools', (options) => new Tools(definitions, options)],
    ['good', (options) => good({ type: 'object' }, options)],
    ['goodFetch', (options) => goodFetch(options)],
    ['repairToolCall', (options) => repairToolCall(options)],
    ['goodTools', (options) => goodTools({ f: { inputSchema: { type: 'object' } } }, options)],
    ['goodMiddleware', (options) => goodMiddleware(options)],
    ['goodTool', (options) => goodTool({ name: 'f', parameters: { type: 'object' } }, options)],
    ['langChainMiddleware', (options) => langChainMiddleware(options)],
    ['goodClient', (options) => goodClient({}, options)],
    ['goodValidator', (options) => goodValidator(options).getValidator({ type: 'object' })],
  ])('%s takes no options, and refuses unknown ones at once', (_, make) => {
    make(undefined)
    make(null)
    expect(() => make({ policy: 'lax' })).toThrow(code('bad_option', /unknown policy `lax`/))
    expect(() => make(5)).toThrow(code('bad_option', /^expected options as an object, got the number 5$/))
  })

  it('and leave the short way usable', () => {
    expect(() => tools.check('read_file', '{}', { stop: 'soon' })).toThrow(GoodcallError)
    expect(tools.check('read_file', '{"file_path": "a"}').kind).toBe('good')
  })
})

it('random calls keep every promise at the border', () => {
  const words = [join(import.meta.dirname, 'fuzz.mjs'), '--cases', '200', '--seed', '22']
  expect(execFileSync(process.execPath, words, { encoding: 'utf8' })).toBe('200 calls from seed 22: every promise held\n')
})
