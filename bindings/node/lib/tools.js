'use strict'

const native = require('./native.js')
const { GoodcallError, expectString, foreign, native: call, optionsOf, ours, shown } = require('./error.js')
const numbers = require('./numbers.js')
const outline = require('./outline.js')
const { isSchema, jsonSchema } = require('./schema.js')

const NONE = Object.freeze([])

/** Where short calls are written for the native part, which takes longer to read a string. */
const BUFFER = Buffer.alloc(16384)
native.shareBuffers(BUFFER, outline.BUFFER)
/**
 * Numbers at its beginning: 1 during a call, those of the tools, of the tool and of how the message
 * ended, 1 if an outline of the arguments can be read, and the length.
 */
const HEADER = new Uint32Array(BUFFER.buffer, BUFFER.byteOffset, 6)
const WRITTEN = BUFFER.subarray(HEADER.byteLength)
/** The longest string that fits: one of its units takes three bytes at most. */
const SHORT = Math.floor(WRITTEN.length / 3)
/** How a message may have ended, in the order of their numbers. */
const STOPS = ['unknown', 'finished', 'cut_off']

/** Keys under which a member of a record of tools has its schema. */
const SCHEMA_KEYS = ['inputSchema', 'parameters', 'input_schema', 'schema']

/** Writes definitions as JSON, with the schemas of libraries as JSON Schema. */
function written(definitions) {
  if (typeof definitions === 'string') return definitions
  const text = foreign('bad_tools', 'the definitions cannot be written as JSON', () => stringified(definitions))
  if (text !== undefined) return text
  throw new GoodcallError('bad_tools', `expected tool definitions, got ${shown(definitions)}`)
}

function stringified(definitions) {
  const listed = isRecord(definitions) ? Object.entries(definitions).map(definition) : definitions
  return JSON.stringify(listed, function (key, value) {
    // Some schemas have a `toJSON` of their own, which was applied to `value`.
    return isSchema(this[key]) ? jsonSchema(this[key]) : value
  })
}

/** Whether these are tools by name, `{read_file: schema}` or `{read_file: {inputSchema}}`. */
function isRecord(definitions) {
  if (definitions === null || typeof definitions !== 'object' || Array.isArray(definitions)) return false
  const entries = Object.entries(definitions)
  return (
    entries.length > 0 &&
    entries.every(([key, value]) => key !== 'function' && (isSchema(value) || schemaKey(value) !== undefined))
  )
}

function schemaKey(value) {
  return value !== null && typeof value === 'object' ? SCHEMA_KEYS.find((key) => key in value) : undefined
}

function definition([name, value]) {
  if (isSchema(value)) return { name, parameters: value }
  const { description, annotations } = value
  return { name, description, parameters: value[schemaKey(value)], annotations }
}

/** Judges short arguments the quick way. */
function checkWritten(tools, place, stop, text, keys) {
  HEADER[1] = tools
  HEADER[2] = place
  HEADER[3] = stop
  HEADER[4] = keys === undefined ? 0 : 1
  HEADER[5] = WRITTEN.write(text)
  HEADER[0] = 1
  try {
    return native.checkWritten()
  } finally {
    HEADER[0] = 0
  }
}

/** The number of a stop reason. */
function stopNumber(stop) {
  const number = STOPS.indexOf(stop)
  if (number >= 0) return number
  throw new GoodcallError('bad_option', `unknown stop reason \`${String(stop)}\`: expected unknown, finished or cut_off`)
}

/** The offered tools, compiled once. */
class Tools {
  #native
  #numbers
  #number
  #places
  #keys

  constructor(definitions, options) {
    const { numbers: mode, ...rest } = optionsOf(options)
    this.#numbers = numbers.mode(mode)
    const text = written(definitions)
    const given = foreign('bad_option', 'the options cannot be written as JSON', () => JSON.stringify(rest))
    this.#native = call(() => new native.Tools(text, given))
    this.#number = this.#native.number()
    this.#places = new Map(this.#native.names().map((name, place) => [name, place]))
    this.#keys = this.#native.keys().map(outline.keysOf)
  }

  get names() {
    return [...this.#places.keys()]
  }

  check(name, raw, options) {
    const text = typeof raw === 'string' ? raw : textOf(raw)
    const stop = options?.stop
    const number = stop === undefined ? 0 : stopNumber(stop)
    const place = text.length <= SHORT ? this.#places.get(name) : undefined
    const keys = place === undefined ? undefined : this.#keys[place]
    let answer
    try {
      if (place === undefined) {
        expectString('name', name)
        answer = this.#native.check(name, text, stop)
      } else {
        answer = checkWritten(this.#number, place, number, text, keys)
      }
    } catch (error) {
      throw ours(error)
    }
    if (answer === null && keys !== undefined) {
      const kind = outline.outlined()
      if (kind === 'mended') return new Mended(name, outline.built(text, keys), () => this.#told(name, text, stop))
      if (kind === 'good' && typeof raw === 'string') return good(name, outline.built(text, keys), text)
    }
    return this.#verdict(name, raw, text, answer, stop)
  }

  async checkAsync(name, raw, options) {
    const stop = options?.stop
    if (stop !== undefined) stopNumber(stop)
    expectString('name', name)
    const text = textOf(raw)
    const answer = await offThread(() => this.#native.checkAsync(name, text, stop))
    return this.#verdict(name, raw, text, answer, stop)
  }

  extract(text, options) {
    expectString('text', text)
    return this.#found(text, call(() => this.#native.extract(text, ...wordsOf(options))))
  }

  async extractAsync(text, options) {
    expectString('text', text)
    return this.#found(text, await offThread(() => this.#native.extractAsync(text, ...wordsOf(options))))
  }

  /** For `Stream`. */
  get native() {
    return this.#native
  }

  /** Reads the updates of a stream. */
  updates(answer) {
    if (answer === null || answer === undefined) return []
    const updates = numbers.parse(answer, this.#numbers)
    for (const update of updates) {
      if (update.type !== 'call') continue
      update.arguments = this.#argumentsOf(update)
      // There is no text that these would be places of.
      delete update.span
    }
    return updates
  }

  #argumentsOf(found) {
    return found.json === undefined ? undefined : numbers.parse(found.json, this.#numbers)
  }

  #verdict(name, raw, text, answer, stop) {
    if (!answer) return good(name, this.#valid(raw, text, answer), text)
    if (answer[0] === '?') return this.#described(text, answer.slice(1))
    const tell = () => this.#told(name, text, stop)
    if (answer[answer.length - 1] !== ' ') return new Mended(name, JSON.parse(answer), tell, answer)
    const json = answer.slice(0, -1)
    return new Mended(name, numbers.parse(json, this.#numbers), tell, json)
  }

  /** What a mended call has besides its arguments, which is made when it is asked for. */
  #told(name, text, stop) {
    const { json, changes } = this.#described(text, this.#native.describe(name, text, stop))
    return { json, changes }
  }

  /** The arguments of a good call: valid as sent, so what was sent is what comes out. */
  #valid(raw, text, answer) {
    if (typeof raw !== 'string' && numbers.isJson(raw)) return raw
    return answer === '' ? numbers.parse(text, this.#numbers) : JSON.parse(text)
  }

  #found(text, answer) {
    const found = numbers.parse(answer, this.#numbers)
    for (const one of found.calls) one.arguments = this.#argumentsOf(one)
    placed(text, found.calls, found.calls.flatMap((one) => one.changes))
    return found
  }

  /** Reads a verdict that is described in full. */
  #described(text, answer) {
    const { kind, tool, json, ...rest } = numbers.parse(answer, this.#numbers)
    placed(text, rest.changes)
    if (json === undefined) return { kind, tool, ...rest }
    return { kind, tool, arguments: numbers.parse(json, this.#numbers), json, ...rest }
  }
}

function good(tool, value, json) {
  return { kind: 'good', tool, arguments: value, json, changes: NONE, issues: NONE }
}

/** Where a mended call keeps the function that tells its text and its changes, and then these. */
const TOLD = Symbol('told')

/** A property of every mended call, shared because making a getter takes long. */
function told(key) {
  return {
    configurable: true,
    enumerable: true,
    get() {
      if (typeof this[TOLD] === 'function') this[TOLD] = this[TOLD]()
      return this[TOLD][key]
    },
  }
}
const JSON_TEXT = told('json')
const CHANGES = told('changes')

/** A mended call, whose text and changes are made when they are asked for: running it needs neither. */
class Mended {
  constructor(tool, value, tell, json) {
    this.kind = 'mended'
    this.tool = tool
    this.arguments = value
    if (json === undefined) Object.defineProperty(this, 'json', JSON_TEXT)
    else this.json = json
    Object.defineProperty(this, 'changes', CHANGES)
    this.issues = NONE
    Object.defineProperty(this, TOLD, { value: tell, writable: true })
  }

  /** Shows the call as the plain object that it is to its users. */
  [Symbol.for('nodejs.util.inspect.custom')]() {
    return { ...this }
  }
}

/** Arguments as text; a value is taken as its JSON. */
function textOf(raw) {
  if (typeof raw === 'string') return raw
  if (raw === undefined) return ''
  const text = foreign('bad_argument', 'the arguments cannot be written as JSON', () => numbers.stringify(raw))
  if (text !== undefined) return text
  throw new GoodcallError('bad_argument', `expected arguments as text or as a value, got ${shown(raw)}`)
}

/** The options of `extract` as the native part takes them. */
function wordsOf(options) {
  const { where, stop } = optionsOf(options)
  if (where !== undefined) expectString('where', where, 'bad_option')
  if (stop !== undefined) stopNumber(stop)
  return [where, stop]
}

/** Waits for another thread, where only goodcall itself can fail. */
async function offThread(begin) {
  const work = call(begin)
  return work.catch((error) => {
    throw new GoodcallError('internal', error.message)
  })
}

/** Turns byte ranges into ranges of the string, which counts in UTF-16. */
function placed(text, ...lists) {
  const spans = lists.flat().map((one) => one.span)
  // eslint-disable-next-line no-control-regex
  if (spans.length === 0 || /^[\x00-\x7f]*$/.test(text)) return
  const at = new Map(spans.flat().map((offset) => [offset, 0]))
  let byte = 0
  let index = 0
  for (const character of text) {
    if (at.has(byte)) at.set(byte, index)
    const code = character.codePointAt(0)
    byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    index += character.length
  }
  if (at.has(byte)) at.set(byte, index)
  for (const span of spans) span.forEach((offset, side) => (span[side] = at.get(offset)))
}

module.exports = { Tools }
