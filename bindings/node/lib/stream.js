'use strict'

const native = require('./native.js')
const { GoodcallError, expectString, foreign, guarded, native: call, optionsOf, shown } = require('./error.js')
const { Tools } = require('./tools.js')

/** Assembles the calls of one streamed message. */
class Stream {
  #native
  #tools
  /** The first half of a character whose second half is expected in the next fragment. */
  #half = ''

  constructor(tools, options) {
    this.#tools = tools instanceof Tools ? tools : new Tools(tools)
    const { provider = 'openai', textCalls } = optionsOf(options)
    const where = textCalls === true ? 'explicit' : textCalls || undefined
    expectString('provider', provider, 'bad_option')
    if (where !== undefined) expectString('textCalls', where, 'bad_option')
    this.#native = guarded(call(() => new native.Stream(this.#tools.native, provider, where)))
  }

  push(event) {
    const write = () => (typeof event === 'string' ? event : JSON.stringify(event))
    const text = foreign('bad_event', 'the event cannot be written as JSON', write)
    if (text === undefined) throw new GoodcallError('bad_event', `expected an event, got ${shown(event)}`)
    return this.#tools.updates(this.#native.push(text))
  }

  pushText(text) {
    expectString('text', text)
    const known = this.#half + text
    this.#half = /[\ud800-\udbff]$/.test(known) ? known.at(-1) : ''
    return this.#pushWhole(known.slice(0, known.length - this.#half.length))
  }

  #pushWhole(text) {
    return text === '' ? [] : this.#tools.updates(this.#native.pushText(text))
  }

  finish() {
    const last = this.#pushWhole(this.#half)
    this.#half = ''
    return [...last, ...this.#tools.updates(this.#native.finish())]
  }

  get stop() {
    return this.#native.stop()
  }
}

module.exports = { Stream }
