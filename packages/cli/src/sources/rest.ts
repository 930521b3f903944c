// Sends JSON requests to another database over HTTP and retries when it is temporarily unavailable.
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject, JsonValue } from '@annal/client'
import { CommandEnd, exitCode } from '../exit-code.ts'

export interface Rest {
  /** A request with a body is a POST. */
  ask(path: string, body?: string): Promise<JsonValue>
}

export interface RestOptions {
  readonly base: string
  readonly headers: { readonly [name: string]: string }
}

const tries = 4
const pauseMs = 500
const answerWithinMs = 120_000

export function restOf({ base, headers }: RestOptions): Rest {
  return {
    async ask(path, body) {
      const url = `${base}${path}`
      for (let tried = 1; ; tried += 1) {
        const { status, text } = await exchange(url, headers, body).catch((error: Error) => {
          if (tried < tries) return { status: 0, text: '' }
          throw new CommandEnd(exitCode.unavailable, `${url} does not respond: ${causeOf(error)}`)
        })
        if (status >= 200 && status < 300) return parseReply(text, url)
        const passing = status === 0 || status === 429 || status >= 500
        if (!passing || tried === tries) {
          throw new CommandEnd(exitCode.refused, `${url} responded with status ${status}: ${text.slice(0, 300)}`)
        }
        await pause(pauseMs * 2 ** (tried - 1))
      }
    },
  }
}

async function exchange(url: string, headers: RestOptions['headers'], body: string | undefined) {
  const response = await fetch(url, {
    headers: {
      ...headers,
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { method: 'POST', body }),
    signal: AbortSignal.timeout(answerWithinMs),
  })
  return { status: response.status, text: await response.text() }
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message || String(error.cause) : error.message
}

function parseReply(text: string, url: string): JsonValue {
  try {
    return JSON.parse(text, exactly)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new CommandEnd(exitCode.refused, `${url} sent a reply that is not JSON: ${text.slice(0, 300)}`)
  }
}

/** An integer that a double cannot represent stays text, because ids have up to 64 bits. */
function exactly(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value
  return context?.source !== undefined && /^-?\d+$/.test(context.source) ? context.source : value
}

/** The object under a key of a reply, if there is one. */
export function objectAt(value: JsonValue | undefined, ...names: readonly string[]): JsonObject | undefined {
  let inner: JsonValue | undefined = value
  for (const name of names) inner = isObject(inner) ? inner[name] : undefined
  return isObject(inner) ? inner : undefined
}

export function listAt(value: JsonValue | undefined, name: string): readonly JsonValue[] | undefined {
  const inner = isObject(value) ? value[name] : undefined
  return Array.isArray(inner) ? inner : undefined
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
