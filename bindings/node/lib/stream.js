'use strict'

const native = require('./native.js')
const { native: call } = require('./error.js')
const { Tools } = require('./tools.js')

/** Assembles the calls of one streamed message. */
class Stream {
  #native
  #tools

  constructor(tools, options = {}) {
    this.#tools = tools instanceof Tools ? tools : new Tools(tools)
    const { provider = 'openai', textCalls } = options
    const where = textCalls === true ? 'explicit' : textCalls || undefined
    this.#native = call(() => new native.Stream(this.#tools.native, provider, where))
  }

  push(event) {
    const text = typeof event === 'string' ? event : JSON.stringify(event)
    return this.#tools.updates(call(() => this.#native.push(text)))
  }

  pushText(text) {
    return this.#tools.updates(this.#native.pushText(text))
  }

  finish() {
    return this.#tools.updates(this.#native.finish())
  }

  get stop() {
    return this.#native.stop()
  }
}

module.exports = { Stream }
