'use strict'
// A gateway inside the process: requests to a provider go through `fetch` as before, and the calls in
// the replies are judged on their way back.

const native = require('./native.js')
const { foreign, guarded, native: call, optionsOf } = require('./error.js')

/** Headers that belong to one sending of a request, and not to another question to the model. */
const OF_REQUEST = ['content-length', 'idempotency-key', 'x-idempotency-key']
/** Headers of a reply that no longer hold once its body is rewritten. */
const OF_BODY = ['content-length', 'content-encoding', 'transfer-encoding']
/** How the value of `authorization` begins where the request is signed, so that no other body fits. */
const SIGNED = 'AWS4-'

/** The parts of a request whose replies are judged; undefined for one that passes untouched. */
async function partsOf(relay, input, init) {
  const request = typeof Request !== 'undefined' && input instanceof Request ? input : undefined
  const method = init?.method ?? request?.method ?? 'GET'
  if (method.toUpperCase() !== 'POST') return undefined
  const { pathname, search } = new URL(request ? request.url : String(input), 'http://localhost')
  const headers = new Headers(init?.headers ?? request?.headers)
  const endpoint = relay.endpoint(pathname + search, [...headers.keys()])
  if (endpoint === null) return undefined
  const body = await textOf(init?.body ?? (request ? await request.clone().text() : undefined))
  return body === undefined ? undefined : { endpoint, headers, body, request }
}

function textOf(body) {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) return new TextDecoder().decode(body)
  return undefined
}

/** Returns a `fetch` whose replies hold only calls that were judged. */
function goodFetch(options) {
  const given = typeof options === 'function' ? { fetch: options } : optionsOf(options)
  const { fetch, fixHistory = true, onReport, ...rest } = given
  const written = foreign('bad_option', 'the options cannot be written as JSON', () => JSON.stringify(rest))
  const relay = guarded(call(() => new native.Relay(written)))

  return async (input, init) => {
    const send = fetch ?? globalThis.fetch
    const parts = await partsOf(relay, input, init)
    if (parts === undefined) return send(input, init)
    const isSigned = parts.headers.get('authorization')?.startsWith(SIGNED) ?? false
    const legal = fixHistory && !isSigned ? relay.legalHistory(parts.endpoint, parts.body) : null
    const opened = relay.open(parts.endpoint, legal ?? parts.body)
    const sendBody = (body, dropped) => {
      const headers = new Headers(parts.headers)
      for (const name of dropped) headers.delete(name)
      return send(parts.request ?? input, { ...init, method: 'POST', headers, body })
    }
    /** The reply to another question, or undefined if there is none. */
    const ask = async (body) => (isSigned ? undefined : sendBody(body, OF_REQUEST).catch(() => undefined))
    const reply = legal === null ? await send(input, init) : await sendBody(legal, ['content-length'])
    if (opened === null) return reply
    const exchange = guarded(opened)
    if (reply.ok && exchange.isStream(mediaType(reply))) {
      return streamed(reply, guarded(exchange.stream()), undefined, ask, onReport)
    }
    if (!isJson(reply)) return reply
    return reply.ok ? whole(reply, exchange, ask, onReport) : failed(reply, exchange, ask, onReport)
  }
}

function mediaType(reply) {
  return (reply.headers.get('content-type') ?? '').split(';')[0].trim().toLowerCase()
}

function isJson(reply) {
  return mediaType(reply) === 'application/json'
}

/** A reply with another body, which is a success. */
function rewritten(reply, body, verdict, type) {
  const headers = new Headers(reply.headers)
  for (const name of OF_BODY) headers.delete(name)
  headers.set('goodcall-verdict', verdict)
  if (type !== undefined) headers.set('content-type', type)
  const { url } = reply
  const { status, statusText } = reply.ok ? reply : { status: 200, statusText: 'OK' }
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url })
}

/** Judges a reply that comes as one document, and asks again where that is needed. */
async function whole(reply, exchange, ask, onReport) {
  const text = await reply.text()
  return settled(reply, text, exchange.reply(text), exchange, ask, onReport)
}

/** Judges an error, in which the server may quote a call that it could not read. */
async function failed(reply, exchange, ask, onReport) {
  const text = await reply.clone().text()
  if (exchange.streams()) {
    const relay = guarded(exchange.stream())
    const begun = relay.failure(text)
    return begun === null ? reply : streamed(reply, relay, begun, ask, onReport)
  }
  return settled(reply, text, exchange.failure(text), exchange, ask, onReport)
}

/** Follows the verdict on a document until there is one to hand out. */
async function settled(first, firstText, firstStep, exchange, ask, onReport) {
  let [reply, text, step] = [first, firstText, firstStep]
  while (step.reask) {
    const next = await ask(exchange.body())
    const nextText = next && isJson(next) ? await next.text().catch(() => undefined) : await discarded(next)
    if (nextText !== undefined && next.ok) {
      ;[reply, text, step] = [next, nextText, exchange.reply(nextText)]
      continue
    }
    step = nextText === undefined ? { reask: false } : exchange.failure(nextText)
    if (!step.reask) step.text ??= exchange.giveUp() ?? undefined
  }
  if (!reply.ok && step.text === undefined) return reply
  const report = JSON.parse(exchange.report())
  onReport?.(report)
  return rewritten(reply, step.text ?? text, report.summary)
}

/** Ends a reply that is of no use. */
async function discarded(reply) {
  await reply?.body?.cancel().catch(() => {})
}

/** Judges a reply on its way through. It begins with a step where an error was sent in its place. */
function streamed(reply, relay, firstStep, ask, onReport) {
  let step = firstStep
  let reader = step === undefined ? reply.body.getReader() : undefined
  let failure

  const finish = () => onReport?.(JSON.parse(relay.report()))
  /** Goes on with the answer to a re-ask; returns the bytes that are held if there is none. */
  const reask = async () => {
    const next = await ask(relay.body())
    step = undefined
    if (next?.ok && relay.isStream(mediaType(next))) {
      relay.beginNext()
      reader = next.body.getReader()
      return undefined
    }
    const error = next && isJson(next) ? await next.text().catch(() => undefined) : await discarded(next)
    step = (error === undefined ? undefined : relay.failure(error)) ?? undefined
    return step === undefined ? relay.giveUp() : undefined
  }
  const pull = async (controller) => {
    if (failure !== undefined) return controller.error(failure.error)
    for (;;) {
      if (step === undefined) {
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
        step = relay.end()
      }
      const { bytes, reask: again } = step
      if (bytes.length > 0) controller.enqueue(bytes)
      const held = again ? await reask() : Buffer.alloc(0)
      if (held === undefined) continue
      if (held.length > 0) controller.enqueue(held)
      finish()
      return controller.close()
    }
  }
  const body = new ReadableStream({ pull, cancel: (reason) => reader?.cancel(reason) })
  return rewritten(reply, body, 'stream', reply.ok ? undefined : relay.mediaType())
}

module.exports = { goodFetch }
