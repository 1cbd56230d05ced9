'use strict'
// A gateway inside the process: requests to a provider go through `fetch` as before, and the calls in
// the replies are judged on their way back.

const native = require('./native.js')
const { native: call } = require('./error.js')

/** Headers that belong to one sending of a request, and not to another question to the model. */
const OF_REQUEST = ['content-length', 'idempotency-key', 'x-idempotency-key']
/** Headers of a reply that no longer hold once its body is rewritten. */
const OF_BODY = ['content-length', 'content-encoding', 'transfer-encoding']
/** Types of replies that come in pieces; Ollama sends lines of JSON. */
const STREAMS = ['text/event-stream', 'application/x-ndjson']
const DOCUMENTS = ['application/json']

/** The protocol of a request by its path, or undefined for one that passes untouched. */
function providerOf(url, headers) {
  const path = new URL(url, 'http://localhost').pathname.replace(/\/+$/, '')
  if (path.endsWith('/chat/completions')) return 'openai'
  if (path.endsWith('/responses')) return 'responses'
  if (path.endsWith('/api/chat')) return 'ollama'
  if (path.endsWith('/v1/messages')) return 'anthropic'
  if (path.endsWith('/messages') && headers.has('anthropic-version')) return 'anthropic'
  return undefined
}

/** The parts of a request, or undefined if its body is not text. */
async function partsOf(input, init = {}) {
  const request = typeof Request !== 'undefined' && input instanceof Request ? input : undefined
  const method = init.method ?? request?.method ?? 'GET'
  if (method.toUpperCase() !== 'POST') return undefined
  const url = request ? request.url : String(input)
  const headers = new Headers(init.headers ?? request?.headers)
  const provider = providerOf(url, headers)
  if (provider === undefined) return undefined
  const body = await textOf(init.body ?? (request ? await request.clone().text() : undefined))
  return body === undefined ? undefined : { url, provider, headers, body, request }
}

function textOf(body) {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) return new TextDecoder().decode(body)
  return undefined
}

/** Returns a `fetch` whose replies hold only calls that were judged. */
function goodFetch(options = {}) {
  const { fetch, fixHistory = true, onReport, ...rest } = typeof options === 'function' ? { fetch: options } : options
  const relay = call(() => new native.Relay(JSON.stringify(rest)))

  return async (input, init) => {
    const send = fetch ?? globalThis.fetch
    const parts = await partsOf(input, init)
    if (parts === undefined) return send(input, init)
    const legal = fixHistory ? relay.legalHistory(parts.provider, parts.body) : null
    const exchange = relay.open(parts.provider, legal ?? parts.body)
    const sendBody = (body, dropped) => {
      const headers = new Headers(parts.headers)
      for (const name of dropped) headers.delete(name)
      return send(parts.request ?? input, { ...init, method: 'POST', headers, body })
    }
    const repeat = (body) => sendBody(body, OF_REQUEST)
    const reply = legal === null ? await send(input, init) : await sendBody(legal, ['content-length'])
    if (exchange === null || !reply.ok) return reply
    if (hasType(reply, STREAMS)) return streamed(reply, exchange, repeat, onReport)
    if (hasType(reply, DOCUMENTS)) return whole(reply, exchange, repeat, onReport)
    return reply
  }
}

function hasType(reply, types) {
  return types.includes((reply.headers.get('content-type') ?? '').split(';')[0].trim().toLowerCase())
}

/** A reply with another body. */
function rewritten(reply, body, verdict) {
  const headers = new Headers(reply.headers)
  for (const name of OF_BODY) headers.delete(name)
  headers.set('goodcall-verdict', verdict)
  const { status, statusText, url } = reply
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url })
}

/** Judges a reply that comes as one document, and asks again where that is needed. */
async function whole(first, exchange, repeat, onReport) {
  let reply = first
  let text = await reply.text()
  for (;;) {
    const step = exchange.reply(text)
    if (!step.reask) {
      text = step.text ?? text
      break
    }
    const next = await usable(repeat(exchange.body()), DOCUMENTS)
    const nextText = await next?.text().catch(() => undefined)
    if (nextText === undefined) {
      text = exchange.giveUp() ?? text
      break
    }
    ;[reply, text] = [next, nextText]
  }
  const report = JSON.parse(exchange.report())
  onReport?.(report)
  return rewritten(reply, text, report.summary)
}

/** The reply to a repeated request, or undefined if it is of no use. */
async function usable(sent, types) {
  const reply = await sent.catch(() => undefined)
  if (reply?.ok && hasType(reply, types)) return reply
  await reply?.body?.cancel().catch(() => {})
  return undefined
}

/** Judges a reply on its way through. */
function streamed(reply, exchange, repeat, onReport) {
  const relay = exchange.stream()
  let reader = reply.body.getReader()
  let failure

  const finish = () => onReport?.(JSON.parse(relay.report()))
  /** Goes on with the answer to a re-ask; returns the bytes that are held if there is none. */
  const reask = async () => {
    const next = await usable(repeat(relay.body()), STREAMS)
    if (next === undefined) return relay.giveUp()
    relay.beginNext()
    reader = next.body.getReader()
    return undefined
  }
  const pull = async (controller) => {
    if (failure !== undefined) return controller.error(failure.error)
    for (;;) {
      let read
      try {
        read = await reader.read()
      } catch (error) {
        failure = { error }
        finish()
        const left = relay.abort()
        // An error discards what is queued, so what may be forwarded goes first.
        return left.length > 0 ? controller.enqueue(left) : controller.error(error)
      }
      if (!read.done) {
        const out = relay.push(read.value)
        if (out.length > 0) return controller.enqueue(out)
        continue
      }
      const { bytes, reask: again } = relay.end()
      if (bytes.length > 0) controller.enqueue(bytes)
      const held = again ? await reask() : Buffer.alloc(0)
      if (held === undefined) continue
      if (held.length > 0) controller.enqueue(held)
      finish()
      return controller.close()
    }
  }
  const body = new ReadableStream({ pull, cancel: (reason) => reader.cancel(reason) })
  return rewritten(reply, body, 'stream')
}

module.exports = { goodFetch }
