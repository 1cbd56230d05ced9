import { describe, expect, it } from 'vitest'
import Anthropic from '@anthropic-ai/sdk'
import { Ollama } from 'ollama'
import OpenAI from 'openai'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { generateText, jsonSchema, streamText, tool } from 'ai'
import { goodFetch } from 'goodcall'
import { scriptedFetch } from './scripted.mjs'
import { schema } from './tools.mjs'

const openAiTools = [{ type: 'function', function: { name: 'read_file', parameters: schema } }]
const anthropicTools = [{ name: 'read_file', input_schema: schema }]
const ask = [{ role: 'user', content: 'Read a.txt.' }]

const call = (text) => ({ name: 'read_file', arguments: text })
const mendable = call('{"filePath": "a.txt", "limit": "20",}')
const mended = { file_path: 'a.txt', limit: 20 }

function openAi(options, ...steps) {
  const fetch = scriptedFetch(...steps)
  const reports = []
  const onReport = (report) => reports.push(report)
  const client = new OpenAI({ apiKey: 'k', fetch: goodFetch({ fetch, onReport, ...options }), maxRetries: 0 })
  return { client, fetch, reports }
}

function anthropic(...steps) {
  const fetch = scriptedFetch(...steps)
  return { client: new Anthropic({ apiKey: 'k', fetch: goodFetch(fetch), maxRetries: 0 }), fetch }
}

const chat = (client, extra) => client.chat.completions.create({ model: 'm', messages: ask, tools: openAiTools, ...extra })

async function streamedCall(client) {
  const stream = client.chat.completions.stream({ model: 'm', messages: ask, tools: openAiTools })
  const { message } = (await stream.finalChatCompletion()).choices[0]
  return message.tool_calls[0].function
}

describe('goodFetch with the OpenAI client', () => {
  it('mends calls of whole replies', async () => {
    const { client, fetch, reports } = openAi({}, mendable)
    const reply = await chat(client)
    expect(JSON.parse(reply.choices[0].message.tool_calls[0].function.arguments)).toEqual(mended)
    expect(fetch.requests).toHaveLength(1)
    expect(reports[0]).toMatchObject({ summary: 'good=0 mended=1 bad=0 reasked=0', calls: [{ tool: 'read_file', kind: 'mended' }] })
  })

  it('mends calls of streams', async () => {
    const { client } = openAi({}, mendable)
    expect(JSON.parse((await streamedCall(client)).arguments)).toEqual(mended)
  })

  it('leaves good replies as they are', async () => {
    const { client } = openAi({}, call('{"file_path":  "a.txt"}'))
    const { data, response } = await chat(client).withResponse()
    expect(data.choices[0].message.tool_calls[0].function.arguments).toBe('{"file_path":  "a.txt"}')
    expect(response.headers.get('goodcall-verdict')).toBe('good=1 mended=0 bad=0 reasked=0')
  })

  it('asks again, and tells the model what to rewrite', async () => {
    const { client, fetch, reports } = openAi({}, call('{"limit": 5000}'), call('{"file_path": "a.txt"}'))
    const reply = await chat(client)
    expect(reply.choices[0].message.tool_calls[0].function.arguments).toBe('{"file_path": "a.txt"}')
    expect(fetch.requests).toHaveLength(2)
    const told = fetch.requests[1].body.messages.at(-1)
    expect(told.role).toBe('tool')
    for (const word of ['file_path', '2000']) expect(told.content).toContain(word)
    expect(reports[0].reasked).toBe(1)
  })

  it('asks again within a stream', async () => {
    const { client, fetch } = openAi({}, call('{"limit": 5000}'), call('{"file_path": "a.txt"}'))
    expect((await streamedCall(client)).arguments).toBe('{"file_path": "a.txt"}')
    expect(fetch.requests).toHaveLength(2)
  })

  it.each([false, true])('hands out the first reply if asking again fails (streamed: %s)', async (stream) => {
    const { client, fetch } = openAi({}, call('{"limit": 5000}'), new Response('busy', { status: 529 }))
    const given = stream ? await streamedCall(client) : (await chat(client)).choices[0].message.tool_calls[0].function
    expect(given.arguments).toBe('{"limit": 5000}')
    expect(fetch.requests).toHaveLength(2)
  })

  it('can hand out the text in place of a call that stays bad', async () => {
    const { client } = openAi({ reasks: 0, giveUp: 'text' }, call('{"limit": 5000}'))
    const { message } = (await chat(client)).choices[0]
    expect(message.tool_calls ?? []).toEqual([])
    expect(message.content).toContain('2000')
  })

  it('finds calls in text on request', async () => {
    const text = '<tool_call>{"name": "read_file", "arguments": {"file_path": "a.txt"}}</tool_call>'
    const { client } = openAi({ textCalls: true }, text)
    expect((await chat(client)).choices[0].message.tool_calls[0].function.name).toBe('read_file')
  })

  it('passes other requests and errors through', async () => {
    const { client, fetch } = openAi({}, 'Hello.', new Response('{"error": {"message": "no"}}', { status: 400 }))
    expect((await client.chat.completions.create({ model: 'm', messages: ask })).choices[0].message.content).toBe('Hello.')
    await expect(chat(client)).rejects.toThrow('no')
    expect(fetch.requests).toHaveLength(2)
  })

  it('never hands out a call of a stream that broke off', async () => {
    const { client } = openAi({}, { ...call('{"file_path": "a.t'), breaks: true })
    const stream = await chat(client, { stream: true })
    const seen = []
    await expect(async () => {
      for await (const chunk of stream) seen.push(...(chunk.choices[0]?.delta.tool_calls ?? []))
    }).rejects.toThrow('the connection was reset')
    expect(seen).toEqual([])
  })

  it('makes histories legal, and repeats a key of idempotency only for the same question', async () => {
    const fetch = scriptedFetch(call('{"limit": 5000}'), call('{"file_path": "a.txt"}'))
    const broken = { id: 'c0', type: 'function', function: { name: 'read_file', arguments: '{"file_path": "a' } }
    const history = [...ask, { role: 'assistant', content: null, tool_calls: [broken] }, { role: 'tool', tool_call_id: 'c0', content: 'x' }]
    const body = JSON.stringify({ model: 'm', messages: history, tools: openAiTools })
    const headers = { 'idempotency-key': 'k' }
    await goodFetch({ fetch })('http://localhost/v1/chat/completions', { method: 'POST', body, headers })
    expect(() => JSON.parse(fetch.requests[0].body.messages[1].tool_calls[0].function.arguments)).not.toThrow()
    expect(fetch.requests.map((request) => request.headers.get('idempotency-key'))).toEqual(['k', null])
  })

  it('reads the request of a Request object', async () => {
    const fetch = scriptedFetch(mendable)
    const body = JSON.stringify({ model: 'm', messages: ask, tools: openAiTools })
    const request = new Request('http://localhost/v1/chat/completions', { method: 'POST', body })
    const reply = await (await goodFetch({ fetch })(request)).json()
    expect(JSON.parse(reply.choices[0].message.tool_calls[0].function.arguments)).toEqual(mended)
  })

  it('judges by the path, as the URLs of the Vercel AI Gateway have it', async () => {
    const { client, fetch } = openAi({}, mendable)
    client.baseURL = 'https://ai-gateway.vercel.sh/v1'
    const reply = await chat(client)
    expect(JSON.parse(reply.choices[0].message.tool_calls[0].function.arguments)).toEqual(mended)
    expect(fetch.requests[0].url).toBe('https://ai-gateway.vercel.sh/v1/chat/completions')
  })

  it('refuses unknown options', () => {
    expect(() => goodFetch({ retries: 1 })).toThrow(expect.objectContaining({ code: 'bad_option' }))
    expect(() => goodFetch({ giveUp: 'never' })).toThrow('unknown giveUp `never`: expected as_sent or text')
  })
})

describe('goodFetch with the Anthropic client', () => {
  const request = { model: 'm', max_tokens: 100, messages: ask, tools: anthropicTools }

  it('mends calls of whole replies', async () => {
    const { client } = anthropic(call('{"filePath": "a.txt", "limit": "20"}'))
    const reply = await client.messages.create(request)
    expect(reply.content[0].input).toEqual(mended)
  })

  it('mends calls of streams', async () => {
    const { client } = anthropic(mendable)
    const reply = await client.messages.stream(request).finalMessage()
    expect(reply.content[0].input).toEqual(mended)
  })

  it('asks again, whole and streamed', async () => {
    for (const streamed of [false, true]) {
      const { client, fetch } = anthropic(call('{"limit": 5000}'), call('{"file_path": "a.txt"}'))
      const reply = streamed ? await client.messages.stream(request).finalMessage() : await client.messages.create(request)
      expect(reply.content[0].input).toEqual({ file_path: 'a.txt' })
      const told = fetch.requests[1].body.messages.at(-1).content[0]
      expect(told).toMatchObject({ type: 'tool_result', is_error: true })
      expect(JSON.stringify(told.content)).toContain('file_path')
    }
  })
})

describe('goodFetch with the Ollama client', () => {
  const request = { model: 'm', messages: ask, tools: openAiTools }

  /** The arguments that the client hands out, and the requests that it took. */
  async function asked(stream, ...steps) {
    const fetch = scriptedFetch(...steps)
    const client = new Ollama({ host: 'http://localhost:11434', fetch: goodFetch(fetch) })
    if (!stream) return [(await client.chat(request)).message.tool_calls[0].function.arguments, fetch.requests]
    const calls = []
    for await (const part of await client.chat({ ...request, stream })) calls.push(...(part.message.tool_calls ?? []))
    expect(calls).toHaveLength(1)
    return [calls[0].function.arguments, fetch.requests]
  }

  it.each([false, true])('mends calls (streamed: %s)', async (stream) => {
    const [found, requests] = await asked(stream, call('{"filePath": "a.txt", "limit": "20"}'))
    expect(found).toEqual(mended)
    expect(requests).toHaveLength(1)
  })

  it.each([false, true])('asks again (streamed: %s)', async (stream) => {
    const [found, requests] = await asked(stream, call('{"limit": 5000}'), call('{"file_path": "a.txt"}'))
    expect(found).toEqual({ file_path: 'a.txt' })
    const told = requests[1].body.messages.at(-1)
    expect(told).toMatchObject({ role: 'tool', tool_name: 'read_file' })
    expect(told.content).toContain('file_path')
  })
})

describe('goodFetch with the Google provider of the AI SDK', () => {
  const tools = { read_file: tool({ inputSchema: jsonSchema(schema) }) }

  /** The input of the one call that the SDK hands out, and the requests that it took. */
  async function asked(stream, ...steps) {
    const fetch = scriptedFetch(...steps)
    const model = createGoogleGenerativeAI({ apiKey: 'k', fetch: goodFetch(fetch) })('gemini-3-pro')
    const ask = { model, prompt: 'Read a.txt.', tools, maxRetries: 0 }
    const { toolCalls } = stream ? streamText(ask) : await generateText(ask)
    const calls = await toolCalls
    expect(calls).toHaveLength(1)
    return [calls[0].input, fetch.requests]
  }

  it.each([false, true])('mends calls (streamed: %s)', async (stream) => {
    const [input, requests] = await asked(stream, call('{"filePath": "a.txt", "limit": "20"}'))
    expect(input).toEqual(mended)
    expect(requests).toHaveLength(1)
  })

  it.each([false, true])('asks again (streamed: %s)', async (stream) => {
    const [input, requests] = await asked(stream, call('{"limit": 5000}'), call('{"file_path": "a.txt"}'))
    expect(input).toEqual({ file_path: 'a.txt' })
    const told = requests[1].body.contents.at(-1).parts[0].functionResponse
    expect(told.name).toBe('read_file')
    expect(JSON.stringify(told.response)).toContain('file_path')
  })

  it('reads the array that a stream without events is', async () => {
    const reply = [{ candidates: [{ content: { role: 'model', parts: [{ functionCall: { name: 'read_file', args: { filePath: 'a' } } }] } }] }]
    const fetch = goodFetch(async () => Response.json(reply))
    const body = JSON.stringify({ contents: [], tools: [{ functionDeclarations: [{ name: 'read_file', parameters: schema }] }] })
    const sent = await fetch('http://up/v1beta/models/g:streamGenerateContent', { method: 'POST', body })
    const parts = (await sent.json()).flatMap((one) => one.candidates[0].content.parts)
    expect(parts.flatMap((part) => part.functionCall?.args ?? [])).toEqual([{ file_path: 'a' }])
  })
})

describe('goodFetch with a server that could not read a call', () => {
  const quoting = (text) => {
    const error = { message: 'Failed to call a function.', type: 'invalid_request_error', code: 'tool_use_failed', failed_generation: text }
    return Response.json({ error }, { status: 400 })
  }
  const given = async (client, stream) =>
    stream ? streamedCall(client) : (await chat(client)).choices[0].message.tool_calls[0].function

  it.each([false, true])('reads the call that its error quotes (streamed: %s)', async (stream) => {
    const { client, fetch, reports } = openAi({}, quoting('<function=read_file>{"filePath": "a.txt", "limit": "20"}</function>'))
    expect(JSON.parse((await given(client, stream)).arguments)).toEqual(mended)
    expect(fetch.requests).toHaveLength(1)
    expect(reports[0].summary).toBe('good=0 mended=1 bad=0 reasked=0 repaired=1')
  })

  it.each([false, true])('asks again for one that is bad (streamed: %s)', async (stream) => {
    const bad = quoting('<function=read_file>{"limit": 5000}</function>')
    const { client, fetch } = openAi({}, bad, call('{"file_path": "a.txt"}'))
    expect(JSON.parse((await given(client, stream)).arguments)).toEqual({ file_path: 'a.txt' })
    expect(fetch.requests).toHaveLength(2)
  })

  it.each([false, true])('reads a quoted call that answers a re-ask (streamed: %s)', async (stream) => {
    const { client } = openAi({}, call('{"limit": 5000}'), quoting('<function=read_file>{"file_path": "a.txt"}</function>'))
    expect(JSON.parse((await given(client, stream)).arguments)).toEqual({ file_path: 'a.txt' })
  })

  it.each([false, true])('leaves any other error as it is (streamed: %s)', async (stream) => {
    const { client, fetch } = openAi({}, Response.json({ error: { message: 'context length exceeded' } }, { status: 400 }))
    await expect(given(client, stream)).rejects.toThrow('context length exceeded')
    expect(fetch.requests).toHaveLength(1)
  })
})

describe('goodFetch with a request that is signed', () => {
  it('mends the reply, and sends no other body', async () => {
    const use = (input) => Response.json({
      output: { message: { role: 'assistant', content: [{ toolUse: { toolUseId: 't', name: 'read_file', input } }] } },
      stopReason: 'tool_use',
    })
    const replies = [use({ filePath: 'a.txt' }), use({ limit: 5000 })]
    let sent = 0
    const fetch = goodFetch(async () => replies[sent++])
    const body = JSON.stringify({
      messages: [{ role: 'user', content: [{ text: 'Read a.txt.' }] }],
      toolConfig: { tools: [{ toolSpec: { name: 'read_file', inputSchema: { json: schema } } }] },
    })
    const headers = { authorization: 'AWS4-HMAC-SHA256 Credential=k' }
    const input = async () => {
      const reply = await fetch('http://up/model/m/converse', { method: 'POST', body, headers })
      return (await reply.json()).output.message.content[0].toolUse.input
    }
    expect(await input()).toEqual({ file_path: 'a.txt' })
    expect(await input()).toEqual({ limit: 5000 })
    expect(sent).toBe(2)
  })
})
