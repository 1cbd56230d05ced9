'use strict'
// Reasoning that a model writes in front of its answer, between markers.

const BLOCKS = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['<reasoning>', '</reasoning>'],
  ['[THINK]', '[/THINK]'],
]

/** Splits a text that begins with reasoning. The opening marker may have been part of the prompt. */
function splitReasoning(text) {
  const splitter = new ReasoningSplitter()
  const pieces = [...splitter.push(text), ...splitter.finish()]
  const joined = (type) => pieces.filter((piece) => piece.type === type).map((piece) => piece.text).join('')
  if (pieces.some((piece) => piece.type === 'reasoning')) return { reasoning: joined('reasoning').trim(), text: joined('text') }
  const [, close] = BLOCKS.find(([open, close]) => text.includes(close) && !text.includes(open)) ?? []
  if (close === undefined) return { text }
  const at = text.indexOf(close)
  return { reasoning: text.slice(0, at).trim(), text: text.slice(at + close.length).trimStart() }
}

/** Splits text that arrives in pieces. */
class ReasoningSplitter {
  #state = 'start'
  #held = ''
  #close = ''

  push(text) {
    this.#held += text
    const pieces = []
    if (this.#state === 'start') this.#begin()
    if (this.#state === 'reasoning') pieces.push(...this.#reason())
    if (this.#state === 'after') {
      this.#held = this.#held.trimStart()
      if (this.#held !== '') this.#state = 'text'
    }
    if (this.#state === 'text' && this.#held !== '') pieces.push({ type: 'text', text: this.#take(this.#held.length) })
    return pieces
  }

  finish() {
    const type = this.#state === 'reasoning' ? 'reasoning' : 'text'
    return this.#held === '' || this.#state === 'after' ? [] : [{ type, text: this.#take(this.#held.length) }]
  }

  #take(length) {
    const taken = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    return taken
  }

  /** Decides whether the text begins with reasoning, as soon as that is certain. */
  #begin() {
    const begun = this.#held.trimStart()
    const block = BLOCKS.find(([open]) => begun.startsWith(open))
    if (block !== undefined) {
      this.#held = begun.slice(block[0].length)
      this.#close = block[1]
      this.#state = 'reasoning'
    } else if (!BLOCKS.some(([open]) => open.startsWith(begun))) {
      this.#state = 'text'
    }
  }

  #reason() {
    const at = this.#held.indexOf(this.#close)
    if (at >= 0) {
      const text = this.#take(at)
      this.#take(this.#close.length)
      this.#state = 'after'
      return text === '' ? [] : [{ type: 'reasoning', text }]
    }
    // The end of what is there may be the beginning of the marker.
    let kept = Math.min(this.#close.length - 1, this.#held.length)
    while (!this.#close.startsWith(this.#held.slice(this.#held.length - kept))) kept--
    const text = this.#take(this.#held.length - kept)
    return text === '' ? [] : [{ type: 'reasoning', text }]
  }
}

module.exports = { ReasoningSplitter, splitReasoning }
