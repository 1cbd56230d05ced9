// Tries the border to the native part with random calls: `npm run fuzz [-- --seconds N] [--cases N]
// [--seed N]`. It stops at the first call for which one of the promises below does not hold, and prints
// the seed that repeats it. A finding becomes a test before it is fixed.

import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import Ajv from 'ajv'
import { GoodcallError, Stream, Tools } from 'goodcall'

const { values: given } = parseArgs({
  options: { seconds: { type: 'string' }, cases: { type: 'string' }, seed: { type: 'string' } },
})
const until = given.seconds === undefined ? Infinity : Date.now() + Number(given.seconds) * 1000
const cases = given.cases === undefined ? (given.seconds === undefined ? 20_000 : Infinity) : Number(given.cases)
const firstSeed = given.seed === undefined ? Date.now() % 2 ** 32 : Number(given.seed)

/** Random numbers that a seed repeats (mulberry32). */
function randomBy(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit) => Math.floor(next() * limit)
  return { below, pick: (list) => list[below(list.length)], chance: (share) => next() < share }
}

const schemas = {
  open: { type: 'object' },
  edit: {
    type: 'object',
    properties: {
      file_path: { type: 'string', minLength: 1 },
      line: { type: 'integer', minimum: 1 },
      share: { type: 'number' },
      all: { type: 'boolean' },
      mode: { enum: ['first', 'all', 'ask'] },
      tags: { type: 'array', items: { type: 'string' } },
      where: { type: 'object', properties: { id: { type: 'integer' }, note: { type: ['string', 'null'] } }, required: ['id'] },
    },
    required: ['file_path'],
    additionalProperties: false,
  },
  any: { type: 'object', properties: { v: { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'array' }] } }, additionalProperties: true },
  map: { type: 'object', additionalProperties: { type: 'number' } },
}
const tools = new Tools(Object.entries(schemas).map(([name, parameters]) => ({ name, parameters })))
const eager = new Tools(Object.entries(schemas).map(([name, parameters]) => ({ name, parameters })), { policy: 'eager', numbers: 'text' })
const ajv = new Ajv({ strict: false })
const accepts = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, ajv.compile(schema)]))

const KEYS = ['file_path', 'filePath', 'line', 'share', 'all', 'mode', 'tags', 'where', 'id', 'note', 'v', '__proto__', 'constructor', 'toString', '0', '7', '', 'ä', '\ud800', '😀', 'arguments', 'edit']
const STRINGS = ['', 'a', 'first', '5', '[1]', '{"id": 1}', 'null', 'a "b" c', 'C:\\new\\table', 'ä', '😀', '\ud800', '\udc00\ud800', '\0', '\u0001n5', '\u2028', 'x'.repeat(300), "it's", '12345678901234567890']
const NUMBERS = ['0', '-0', '1', '42', '1.5', '1e3', '1E400', '-1e-400', '9007199254740993', '12345678901234567890', '12345678901234567.0', '0.1', '1.0', '99999999999999999999e3']

/** Random JSON text. */
function json(random, depth) {
  const kind = depth > 3 ? random.below(4) : random.below(6)
  if (kind === 0) return random.pick(NUMBERS)
  if (kind === 1) return random.pick(['true', 'false', 'null'])
  if (kind <= 3) return JSON.stringify(random.pick(STRINGS))
  const members = Array.from({ length: random.below(4) }, () => json(random, depth + 1))
  if (kind === 4) return `[${members.join(random.pick([',', ', ']))}]`
  return object(random, members)
}

function object(random, members) {
  const keyed = members.map((member) => `${JSON.stringify(random.pick(KEYS))}:${random.pick(['', ' '])}${member}`)
  return `{${keyed.join(random.pick([',', ', ', ',\n']))}}`
}

const PIECES = ['"', "'", '`', '{', '}', '[', ']', ',', ':', '\\', '//', '/*', '*/', '\n', ' ', 'None', 'True', 'NaN', '```json\n', '\n```', '<tool_call>', '\ud83d', '\u0000', '\ufeff', '…', '“']

/** Damages a text as models and wires do. */
function damaged(random, text) {
  let made = text
  for (let times = random.below(4); times > 0; times--) {
    const at = random.below(made.length + 1)
    const to = Math.min(made.length, at + random.below(4))
    const kind = random.below(5)
    if (kind === 0) made = made.slice(0, at) + made.slice(to)
    else if (kind === 1) made = made.slice(0, at) + random.pick(PIECES) + made.slice(at)
    else if (kind === 2) made = made.slice(0, at) + random.pick(PIECES) + made.slice(to)
    else if (kind === 3) made = made.slice(0, at)
    else made = made.replaceAll('"', "'")
  }
  return made
}

function hasWide(value) {
  if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isSafeInteger(value) && Number.isInteger(value))) return true
  return value !== null && typeof value === 'object' && Object.values(value).some(hasWide)
}

/** `undefined` if a text is not JSON. */
function parsed(text) {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function promises(random, name, raw, verdict, by) {
  assert.ok(['good', 'mended', 'bad'].includes(verdict.kind))
  for (const { span } of verdict.changes) {
    assert.ok(span[0] >= 0 && span[0] <= span[1] && span[1] <= raw.length, `span ${span} of ${raw.length}`)
  }
  if (verdict.kind === 'bad') {
    assert.ok(verdict.text.length > 0 && verdict.issues.length > 0 && verdict.arguments === undefined)
    return
  }
  assert.equal(verdict.changes.length > 0, verdict.kind === 'mended')
  if (verdict.kind === 'good') {
    assert.equal(verdict.json, raw)
    const plain = parsed(raw)
    assert.ok(plain !== undefined, 'good, but not JSON')
    if (!/\d{16}|\d[eE]/.test(raw)) assert.deepEqual(verdict.arguments, plain.value)
  }
  const again = by.check(name, verdict.json)
  assert.equal(again.kind, 'good', `checked again: ${verdict.json} is ${again.kind}`)
  assert.deepEqual(again.arguments, verdict.arguments)
  if (by === tools && !hasWide(verdict.arguments) && !/\d[eE]\d{3}/.test(verdict.json)) {
    assert.ok(accepts[name](verdict.arguments), `${ajv.errorsText(accepts[name].errors)}: ${verdict.json}`)
  }
  assert.equal(by.check(name, verdict.arguments).kind === 'bad', false)
  // A prefix of a call is no call.
  if (verdict.kind === 'good' && raw.trimEnd().length > 1) {
    const whole = raw.trimEnd()
    const part = whole.slice(0, 1 + random.below(whole.length - 1))
    // Nothing at all stands for no arguments.
    if (part.trim() !== '') assert.equal(tools.check(name, part).kind, 'bad', `a part is a call: ${part}`)
  }
}

/** The same verdict without the text, which differs between a text and a value. */
const essence = ({ kind, tool, arguments: made, reason }) => ({ kind, tool, made, reason })

async function one(seed) {
  const random = randomBy(seed)
  const name = random.pick(Object.keys(schemas))
  const members = Array.from({ length: random.below(5) }, () => json(random, 1))
  const whole = random.chance(0.9) ? object(random, members) : json(random, 0)
  const raw = random.chance(0.3) ? whole : damaged(random, whole)
  const by = random.chance(0.7) ? tools : eager
  try {
    const verdict = by.check(name, raw)
    promises(random, name, raw, verdict, by)
    const other = await by.checkAsync(name, raw)
    assert.deepEqual(essence(other), essence(verdict))
    assert.deepEqual(other.changes, verdict.changes)
    const value = parsed(raw)
    if (value !== undefined && value.value !== undefined) by.check(name, value.value)
    for (const stop of ['finished', 'cut_off']) {
      const stopped = by.check(name, raw, { stop })
      if (stop === 'cut_off' && verdict.kind === 'bad') assert.equal(stopped.kind, 'bad')
    }
    const text = `Well.\n<tool_call>{"name": "${name}", "arguments": ${raw}}</tool_call>${random.pick(['', '\n', ' Done.'])}`
    const found = by.extract(text)
    assert.deepEqual(await by.extractAsync(text), found)
    const stream = new Stream(by, { textCalls: true })
    const updates = []
    for (let at = 0; at < text.length; ) {
      const end = at + 1 + random.below(30)
      updates.push(...stream.pushText(text.slice(at, end)))
      at = end
    }
    updates.push(...stream.finish())
    const streamed = updates.filter((update) => update.type === 'call').map((call) => [call.name, call.raw, call.kind])
    assert.deepEqual(streamed, found.calls.map((call) => [call.name, call.raw, call.kind]))
  } catch (error) {
    if (!(error instanceof GoodcallError) || error.code === 'internal') {
      console.error(`seed ${seed}, tool ${name}, ${by === eager ? 'eager' : 'safe'}:\n${JSON.stringify(raw)}`)
      throw error
    }
    throw new Error(`seed ${seed}: a call must not throw ${error.code}`, { cause: error })
  }
}

let done = 0
while (done < cases && Date.now() < until) {
  await one((firstSeed + done) % 2 ** 32)
  done++
}
console.log(`${done} calls from seed ${firstSeed}: every promise held`)
