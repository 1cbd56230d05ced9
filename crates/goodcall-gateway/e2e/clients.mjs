// Node clients, unchanged but for their base URL: `node clients.mjs URL SCENARIO…`.
// Prints one JSON object a line: who asked, what, and the answer or the failure.
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';
import { generateText, jsonSchema, streamText, tool } from 'ai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenAI } from '@ai-sdk/openai';
import { createAnthropic } from '@ai-sdk/anthropic';

globalThis.AI_SDK_LOG_WARNINGS = false;
const [url, ...scenarios] = process.argv.slice(2);
const schema = {
  type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'], additionalProperties: false,
};
const ask = 'The weather of Oslo for 3 days?';
const messages = [{ role: 'user', content: ask }];
const chatTools = [{ type: 'function', function: { name: 'weather', description: 'd', parameters: schema } }];
const flatTools = [{ type: 'function', name: 'weather', description: 'd', parameters: schema, strict: false }];
const blockTools = [{ name: 'weather', description: 'd', input_schema: schema }];

function checked(calls) {
  const out = [];
  for (let [name, given] of calls) {
    if (typeof given === 'string') given = JSON.parse(given);
    if (name !== 'weather') throw new Error(`no tool ${name}`);
    const keys = Object.keys(given).sort().join();
    if (keys !== 'city,days' || typeof given.city !== 'string' || !Number.isInteger(given.days)) {
      throw new Error(`wrong arguments ${JSON.stringify(given)}`);
    }
    out.push([name, given]);
  }
  if (out.length === 0) throw new Error('no call');
  return out;
}

function reason(found, wanted) {
  if (found !== wanted) throw new Error(`finish reason ${found}`);
}

async function openaiChat(model, stream) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'key', maxRetries: 0 });
  const params = { model, messages, tools: chatTools };
  const reply = stream
    ? await client.chat.completions.stream(params).finalChatCompletion()
    : await client.chat.completions.create(params);
  const choice = reply.choices[0];
  reason(choice.finish_reason, 'tool_calls');
  return checked(choice.message.tool_calls.map((call) => [call.function.name, call.function.arguments]));
}

async function openaiResponses(model, stream) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'key', maxRetries: 0 });
  const params = { model, input: messages, tools: flatTools };
  const reply = stream
    ? await client.responses.stream(params).finalResponse()
    : await client.responses.create(params);
  const calls = reply.output.filter((item) => item.type === 'function_call');
  return checked(calls.map((item) => [item.name, item.arguments]));
}

async function anthropicMessages(model, stream) {
  const client = new Anthropic({ baseURL: url, apiKey: 'key', maxRetries: 0 });
  const params = { model, max_tokens: 100, messages, tools: blockTools };
  const reply = stream ? await client.messages.stream(params).finalMessage() : await client.messages.create(params);
  reason(reply.stop_reason, 'tool_use');
  const calls = reply.content.filter((block) => block.type === 'tool_use');
  return checked(calls.map((block) => [block.name, block.input]));
}

const weather = tool({ description: 'd', inputSchema: jsonSchema(schema) });

async function vercel(model, stream) {
  const params = { model, prompt: ask, tools: { weather }, maxRetries: 0, onError: () => {} };
  const result = stream ? streamText(params) : await generateText(params);
  if (stream) for await (const part of result.fullStream) if (part.type === 'error') throw part.error;
  const calls = await result.toolCalls;
  reason(await result.finishReason, 'tool-calls');
  for (const call of calls) if (call.invalid) throw new Error(`invalid: ${call.error}`);
  return checked(calls.map((call) => [call.toolName, call.input]));
}

const vercelCompatible = (model, stream) =>
  vercel(createOpenAICompatible({ name: 'x', baseURL: `${url}/v1`, apiKey: 'key' })(model), stream);
const vercelOpenai = (model, stream) =>
  vercel(createOpenAI({ baseURL: `${url}/v1`, apiKey: 'key' }).responses(model), stream);
const vercelAnthropic = (model, stream) =>
  vercel(createAnthropic({ baseURL: `${url}/v1`, apiKey: 'key' })(model), stream);

const clients = { openaiChat, openaiResponses, anthropicMessages, vercelCompatible, vercelOpenai, vercelAnthropic };
for (const [name, client] of Object.entries(clients)) {
  for (const scenario of scenarios) {
    for (const stream of [false, true]) {
      const line = { client: `node ${name}`, scenario, stream };
      try {
        line.answer = await client(scenario, stream);
      } catch (error) {
        line.failure = `${error?.name}: ${error?.message}`.slice(0, 200);
      }
      console.log(JSON.stringify(line));
    }
  }
}
