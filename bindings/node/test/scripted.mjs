// A model provider that answers by a script, as a `fetch`.

/** Replies of OpenAI Chat Completions. A step is `{name, arguments}` for a call, or text. */
function chatMessage(step, index) {
  if (typeof step === 'string') return [{ role: 'assistant', content: step }, 'stop']
  const { stop = 'tool_calls', ...call } = step
  const calls = [{ id: `call_${index}`, type: 'function', function: call }]
  return [{ role: 'assistant', content: null, tool_calls: calls }, stop]
}

function chat(step, index) {
  const [message, finish_reason] = chatMessage(step, index)
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  return { id: `r${index}`, object: 'chat.completion', created: 1, model: 'm', choices: [{ index: 0, message, finish_reason }], usage }
}

function chatEvents(step, index) {
  const [message, finish_reason] = chatMessage(step, index)
  const base = { id: `r${index}`, object: 'chat.completion.chunk', created: 1, model: 'm' }
  const event = (delta, reason = null) => ({ ...base, choices: [{ index: 0, delta, finish_reason: reason }] })
  const events = [event({ role: 'assistant' })]
  if (message.content) events.push(...[...message.content].map((content) => event({ content })))
  for (const [at, { id, function: { name, arguments: text } }] of (message.tool_calls ?? []).entries()) {
    events.push(event({ tool_calls: [{ index: at, id, type: 'function', function: { name, arguments: '' } }] }))
    for (const piece of text.match(/[^]{1,7}/g) ?? []) {
      events.push(event({ tool_calls: [{ index: at, function: { arguments: piece } }] }))
    }
  }
  events.push(event({}, finish_reason))
  return [...events.map((one) => `data: ${JSON.stringify(one)}\n\n`), 'data: [DONE]\n\n']
}

/** Replies of Anthropic Messages. Arguments that are not JSON cannot be in a whole reply. */
function messages(step, index) {
  const content =
    typeof step === 'string'
      ? [{ type: 'text', text: step }]
      : [{ type: 'tool_use', id: `toolu_${index}`, name: step.name, input: JSON.parse(step.arguments) }]
  const stop_reason = typeof step === 'string' ? 'end_turn' : 'tool_use'
  const usage = { input_tokens: 1, output_tokens: 1 }
  return { id: `m${index}`, type: 'message', role: 'assistant', model: 'm', content, stop_reason, stop_sequence: null, usage }
}

function messageEvents(step, index) {
  const usage = { input_tokens: 1, output_tokens: 1 }
  const start = { id: `m${index}`, type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage }
  const isText = typeof step === 'string'
  const block = isText ? { type: 'text', text: '' } : { type: 'tool_use', id: `toolu_${index}`, name: step.name, input: {} }
  const delta = (piece) => (isText ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece })
  const pieces = (isText ? step : step.arguments).match(/[^]{1,7}/g) ?? []
  const events = [
    { type: 'message_start', message: start },
    { type: 'content_block_start', index: 0, content_block: block },
    ...pieces.map((piece) => ({ type: 'content_block_delta', index: 0, delta: delta(piece) })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: isText ? 'end_turn' : 'tool_use', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

/** Replies of OpenAI Responses, streamed as Codex reads them. */
function responseEvents(step, index) {
  const item =
    typeof step === 'string'
      ? { type: 'message', id: `m${index}`, role: 'assistant', content: [{ type: 'output_text', text: step, annotations: [] }] }
      : { type: 'function_call', id: `fc_${index}`, call_id: `call_${index}`, ...step }
  const response = { id: `r${index}`, output: [item], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } }
  const events = [
    { type: 'response.created', response: { id: response.id } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ]
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

/** Replies of Ollama's own chat. A call is in one line, with its arguments as an object. */
function ollama(step, done = true) {
  const message = { role: 'assistant', content: typeof step === 'string' ? step : '' }
  if (typeof step !== 'string') message.tool_calls = [{ function: { name: step.name, arguments: JSON.parse(step.arguments) } }]
  return { model: 'm', created_at: '2026-01-01T00:00:00Z', message, done }
}

function ollamaLines(step) {
  return [ollama(step, false), { ...ollama('', true), done_reason: 'stop' }].map((line) => `${JSON.stringify(line)}\n`)
}

/** Replies of Gemini. A call is in one part, with its arguments as an object. */
function gemini(step) {
  const part = typeof step === 'string' ? { text: step } : { functionCall: { name: step.name, args: JSON.parse(step.arguments) } }
  const candidate = { content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
  return { candidates: [candidate], usageMetadata, modelVersion: 'm', responseId: 'r' }
}

const EVENTS = 'text/event-stream; charset=utf-8'
/** How each protocol writes a whole reply and a streamed one. */
const protocols = [
  { path: /\/messages$/, whole: messages, streamed: messageEvents, type: EVENTS },
  { path: /\/api\/chat$/, whole: (step) => ollama(step), streamed: ollamaLines, type: 'application/x-ndjson' },
  { path: /\/responses$/, streamed: responseEvents, type: EVENTS },
  { path: /generateContent/i, whole: gemini, streamed: (step) => [`data: ${JSON.stringify(gemini(step))}\r\n\r\n`], type: EVENTS },
  { path: /^/, whole: chat, streamed: chatEvents, type: EVENTS },
]

/** Returns a `fetch` that answers the requests with the steps in turn, and keeps the requests. */
export function scriptedFetch(...steps) {
  const requests = []
  const fetch = async (input, init) => {
    const url = String(input instanceof Request ? input.url : input)
    const body = JSON.parse(init?.body ?? (await input.clone().text()))
    requests.push({ url, body, headers: new Headers(init?.headers) })
    const step = steps[Math.min(requests.length, steps.length) - 1]
    if (step instanceof Response) return step
    const { whole, streamed, type } = protocols.find(({ path }) => path.test(url))
    if (!body.stream && !url.includes(':streamGenerateContent')) return Response.json(whole(step, requests.length))
    const events = streamed(step, requests.length)
    const bytes = new TextEncoder().encode(events.join(''))
    const stream = new ReadableStream({
      start(controller) {
        // Pieces that end anywhere, as they do on a network.
        for (let at = 0; at < bytes.length; at += 50) controller.enqueue(bytes.slice(at, at + 50))
        if (step.breaks) controller.error(new Error('the connection was reset'))
        else controller.close()
      },
    })
    return new Response(stream, { headers: { 'content-type': type } })
  }
  return Object.assign(fetch, { requests })
}
