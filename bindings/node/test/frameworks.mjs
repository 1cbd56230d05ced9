// The same bad calls in every framework, as it is and with goodcall. A driver runs one call, by a model
// that answers by a script, and says what became of it: what the tool got, or what the model was told,
// or how the run ended.

import Anthropic from '@anthropic-ai/sdk'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { generateText, isStepCount, jsonSchema, tool as aiTool, wrapLanguageModel } from 'ai'
import { Agent as MastraAgent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { Agent, OpenAIChatCompletionsModel, Runner, setTracingDisabled, tool as agentsTool } from '@openai/agents'
import { createAgent, tool as langChainTool, ToolMessage } from 'langchain'
import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport, McpServer, fromJsonSchema } from '@modelcontextprotocol/server'
import { Ollama } from 'ollama'
import OpenAI from 'openai'
import { z } from 'zod'
import {
  good,
  goodClient,
  goodFetch,
  goodMiddleware,
  goodTool,
  goodTools,
  goodValidator,
  langChainMiddleware,
  repairToolCall,
} from 'goodcall'
import { ScriptedChatModel } from './langchain-model.mjs'
import { scriptedModel, told } from './model.mjs'
import { scriptedFetch } from './scripted.mjs'
import { name } from './six-calls.mjs'
import { schema } from './tools.mjs'

setTracingDisabled(true)

const zod = z.object({
  file_path: z.string(),
  limit: z.int().min(1).max(2000).optional(),
  tags: z.array(z.string()).optional(),
})
const { additionalProperties, ...json } = schema

async function aiSdk(inputSchema, raw, execute, extra = {}, wrap = (tools) => tools) {
  const tools = wrap({ read_file: aiTool({ description: 'Reads', inputSchema, execute }) })
  const model = scriptedModel([{ name, arguments: raw }, 'Done.'])
  await generateText({ model, prompt: 'Read.', tools, stopWhen: isStepCount(2), ...extra })
  return told(model.prompts)
}

/** A model that writes its calls into its text, as local ones do. */
async function aiSdkText(raw, execute, wrapped = (model) => model, extra = {}) {
  const model = scriptedModel([`<tool_call>{"name": "${name}", "arguments": ${raw}}</tool_call>`, 'Done.'])
  const tools = { read_file: aiTool({ description: 'Reads', inputSchema: zod, execute }) }
  await generateText({ model: wrapped(model), prompt: 'Read.', tools, stopWhen: isStepCount(2), ...extra })
  return told(model.prompts)
}

const withMiddleware = (model) => wrapLanguageModel({ model, middleware: goodMiddleware() })

async function aiSdkGoogle(raw, execute, fetchOf) {
  const script = scriptedFetch({ name, arguments: raw }, 'Done.')
  const model = createGoogleGenerativeAI({ apiKey: 'k', fetch: fetchOf(script) })('gemini-3-pro')
  const tools = { read_file: aiTool({ description: 'Reads', inputSchema: jsonSchema(json), execute }) }
  await generateText({ model, prompt: 'Read.', tools, maxRetries: 0 })
  const parts = script.requests.flatMap(({ body }) => body.contents).flatMap((content) => content.parts)
  return parts.findLast((part) => part.functionResponse)?.functionResponse.response.error
}

async function mastra(inputSchema, raw, execute) {
  const read = createTool({ id: name, description: 'Reads', inputSchema, execute: (input) => execute(input.context ?? input) })
  const model = scriptedModel([{ name, arguments: raw }, 'Done.'])
  const agent = new MastraAgent({ id: 'a', name: 'a', instructions: 'Read.', model, tools: { read_file: read } })
  await agent.generate('Read.', { maxSteps: 2 })
  return told(model.prompts)
}

/** In strict mode, which Zod schemas have, what is optional is nullable. */
const strictZod = z.object({
  file_path: z.string(),
  limit: z.int().min(1).max(2000).nullable().optional(),
  tags: z.array(z.string()).nullable().optional(),
})

async function openAiAgents(parameters, raw, execute, { wrap = (one) => one, fetchOf = (fetch) => fetch } = {}) {
  const strict = parameters === strictZod
  const read = agentsTool({ name, description: 'Reads', parameters, execute, strict })
  const script = scriptedFetch({ name, arguments: raw }, 'Done.')
  const client = new OpenAI({ apiKey: 'k', fetch: fetchOf(script), maxRetries: 0 })
  const model = new OpenAIChatCompletionsModel(client, 'm')
  const agent = new Agent({ name: 'a', instructions: 'Read.', model, tools: [wrap(read)] })
  await new Runner({ tracingDisabled: true }).run(agent, 'Read.')
  return script.requests.at(-1).body.messages.find((message) => message.role === 'tool')?.content
}

async function langChain(raw, execute, middleware = []) {
  const read = langChainTool(execute, { name, description: 'Reads', schema: zod })
  const model = new ScriptedChatModel(raw, name)
  const agent = createAgent({ model, tools: [read], middleware })
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Read.' }] })
  return messages.find((message) => ToolMessage.isInstance(message))?.content
}

async function mcp(inputSchema, raw, execute, wrap = (client) => client) {
  const server = new McpServer({ name: 's', version: '1' })
  server.registerTool(name, { description: 'Reads', inputSchema }, async (input) => {
    await execute(input)
    return { content: [{ type: 'text', text: 'done' }] }
  })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'c', version: '1' })
  await Promise.all([server.connect(theirs), client.connect(ours)])
  const result = await wrap(client).callTool({ name, arguments: JSON.parse(raw) })
  return result.content[0].text
}

/** A server that validates nothing, as those that declare their schemas by hand. */
const unvalidated = () => fromJsonSchema(json, { getValidator: () => (data) => ({ valid: true, data, errorMessage: undefined }) })

async function openAiClient(raw, execute, fetchOf, baseURL) {
  const script = scriptedFetch({ name, arguments: raw }, 'Done.')
  const client = new OpenAI({ apiKey: 'k', baseURL, fetch: fetchOf(script), maxRetries: 0 })
  const tools = [{ type: 'function', function: { name, parameters: json } }]
  const reply = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'Read.' }], tools })
  const [call] = reply.choices[0].message.tool_calls ?? []
  if (call !== undefined) await execute(JSON.parse(call.function.arguments))
  return script.requests.at(-1).body.messages.find((message) => message.role === 'tool')?.content
}

async function anthropicClient(raw, execute, fetchOf) {
  const script = scriptedFetch({ name, arguments: raw }, 'Done.')
  const client = new Anthropic({ apiKey: 'k', fetch: fetchOf(script), maxRetries: 0 })
  const tools = [{ name, input_schema: json }]
  const messages = [{ role: 'user', content: 'Read.' }]
  const reply = await client.messages.stream({ model: 'm', max_tokens: 4096, messages, tools }).finalMessage()
  const call = reply.content.find((block) => block.type === 'tool_use')
  if (call !== undefined) await execute(call.input)
  const [result] = script.requests.at(-1).body.messages.at(-1).content
  return JSON.stringify(result.content)
}

async function ollamaClient(raw, execute, fetchOf) {
  const script = scriptedFetch({ name, arguments: raw }, 'Done.')
  const client = new Ollama({ host: 'http://localhost:11434', fetch: fetchOf(script) })
  const tools = [{ type: 'function', function: { name, parameters: json } }]
  const { message } = await client.chat({ model: 'm', messages: [{ role: 'user', content: 'Read.' }], tools })
  const [call] = message.tool_calls ?? []
  if (call !== undefined) await execute(call.function.arguments)
  return script.requests.at(-1).body.messages.find((one) => one.role === 'tool')?.content
}

const asIs = (fetch) => fetch
const VERCEL = 'https://ai-gateway.vercel.sh/v1'

/** Each framework: what it does today, and with goodcall. */
export const frameworks = [
  {
    title: 'AI SDK 7, Zod',
    added: '`repairToolCall()`',
    today: (raw, execute) => aiSdk(zod, raw, execute),
    withGoodcall: (raw, execute) => aiSdk(zod, raw, execute, { repairToolCall: repairToolCall() }),
  },
  {
    title: 'AI SDK 7, MCP tools',
    added: '`goodTools`, `repairToolCall()`',
    today: (raw, execute) => aiSdk(jsonSchema(json), raw, execute),
    withGoodcall: (raw, execute) =>
      aiSdk(jsonSchema(json), raw, execute, { repairToolCall: repairToolCall() }, goodTools),
  },
  {
    title: 'AI SDK 7, calls in text',
    added: '`goodMiddleware()`, `repairToolCall()`',
    today: (raw, execute) => aiSdkText(raw, execute),
    withGoodcall: (raw, execute) => aiSdkText(raw, execute, withMiddleware, { repairToolCall: repairToolCall() }),
  },
  {
    title: 'AI SDK 7, Gemini',
    added: '`goodFetch()` in the provider',
    takesValues: true,
    today: (raw, execute) => aiSdkGoogle(raw, execute, asIs),
    withGoodcall: (raw, execute) => aiSdkGoogle(raw, execute, goodFetch),
  },
  {
    title: 'Mastra 1.71',
    added: '`good(schema)`',
    // It makes an empty object of text that is not JSON before any schema sees it.
    words: { 'cut off': ['file_path'] },
    today: (raw, execute) => mastra(zod, raw, execute),
    withGoodcall: (raw, execute) => mastra(good(zod, { name }), raw, execute),
  },
  {
    title: 'OpenAI Agents 0.20, Zod',
    added: '`goodTool(tool)`',
    takesValues: true,
    // `null` is what strict mode sends for what is left out.
    ran: { '`null` for an optional': { file_path: 'a', limit: null } },
    today: (raw, execute) => openAiAgents(strictZod, raw, execute),
    withGoodcall: (raw, execute) => openAiAgents(strictZod, raw, execute, { wrap: goodTool }),
  },
  {
    title: 'OpenAI Agents 0.20, JSON Schema',
    added: '`goodFetch()` in the client',
    today: (raw, execute) => openAiAgents({ ...json, additionalProperties: true }, raw, execute),
    withGoodcall: (raw, execute) =>
      openAiAgents({ ...json, additionalProperties: true }, raw, execute, { wrap: goodTool, fetchOf: goodFetch }),
  },
  {
    title: 'LangChain 1.5',
    added: '`langChainMiddleware()`',
    today: (raw, execute) => langChain(raw, execute),
    withGoodcall: (raw, execute) => langChain(raw, execute, [langChainMiddleware()]),
  },
  {
    title: 'MCP server SDK 2.4, Zod',
    added: '`good(schema)`',
    takesValues: true,
    today: (raw, execute) => mcp(zod, raw, execute),
    withGoodcall: (raw, execute) => mcp(good(zod, { name }), raw, execute),
  },
  {
    title: 'MCP server SDK 2.4, JSON Schema',
    added: '`goodValidator()`',
    takesValues: true,
    today: (raw, execute) => mcp(fromJsonSchema(json), raw, execute),
    withGoodcall: (raw, execute) => mcp(fromJsonSchema(json, goodValidator()), raw, execute),
  },
  {
    title: 'MCP client SDK 2.4',
    added: '`goodClient(client)`',
    takesValues: true,
    today: (raw, execute) => mcp(unvalidated(), raw, execute),
    withGoodcall: (raw, execute) => mcp(unvalidated(), raw, execute, goodClient),
  },
  {
    title: 'OpenAI client 7',
    added: '`goodFetch()`',
    today: (raw, execute) => openAiClient(raw, execute, asIs),
    withGoodcall: (raw, execute) => openAiClient(raw, execute, goodFetch),
  },
  {
    title: 'Vercel AI Gateway, OpenAI client 7',
    added: '`goodFetch()`',
    today: (raw, execute) => openAiClient(raw, execute, asIs, VERCEL),
    withGoodcall: (raw, execute) => openAiClient(raw, execute, goodFetch, VERCEL),
  },
  {
    title: 'Anthropic client 1, streamed',
    added: '`goodFetch()`',
    today: (raw, execute) => anthropicClient(raw, execute, asIs),
    withGoodcall: (raw, execute) => anthropicClient(raw, execute, goodFetch),
  },
  {
    title: 'Ollama client 0.6',
    added: '`goodFetch()`',
    takesValues: true,
    today: (raw, execute) => ollamaClient(raw, execute, asIs),
    withGoodcall: (raw, execute) => ollamaClient(raw, execute, goodFetch),
  },
]
