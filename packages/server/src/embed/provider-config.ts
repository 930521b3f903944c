// The providers of vectors that the operator names, in a file of JSON. Addresses come only from there, and keys only from the environment.

import { readFileSync } from 'node:fs'
import { dimensionMax, dimensionMin } from '@annal/engine'
import { isObject } from '../json-object.ts'
import { type ProviderKind, providerKinds } from './shapes.ts'

/** A provider of vectors. */
export interface ProviderConfig {
  readonly name: string
  readonly kind: ProviderKind
  /** The whole address that texts are sent to. */
  readonly url: string
  /** Undefined: none is sent. A function, so that no dump of the configuration has it. */
  readonly key: (() => string) | undefined
  readonly model: string
  readonly dimension: number
  /** Whether the dimension is sent, for models that make vectors of several dimensions. */
  readonly sendsDimension: boolean
  /** Texts of one call. */
  readonly batchSize: number
  /** 0: no limit. */
  readonly requestsPerMinute: number
  /** Of one call. */
  readonly timeoutMs: number
  /** Of everything that one request waits for: its calls, their order, and their repetitions. */
  readonly deadlineMs: number
  /** Calls at once. */
  readonly concurrency: number
  /** Bytes of vectors that are kept for equal texts. */
  readonly cacheBytes: number
}

interface Environment {
  readonly [name: string]: string | undefined
}

const fileBytesMax = 1_048_576
const providersMax = 64
const urlLengthMax = 2_048
const modelLengthMax = 256
const mebibyte = 1_048_576

const numbers = {
  batch_size: { fallback: 64, min: 1, max: 2_048 },
  requests_per_minute: { fallback: 0, min: 0, max: 1_000_000 },
  timeout_ms: { fallback: 10_000, min: 100, max: 600_000 },
  deadline_ms: { fallback: 25_000, min: 100, max: 3_600_000 },
  concurrency: { fallback: 4, min: 1, max: 64 },
  cache_mb: { fallback: 64, min: 0, max: 65_536 },
} as const
const texts = ['kind', 'url', 'key_env', 'model'] as const
const keys: readonly string[] = [...texts, 'dimension', 'send_dimension', ...Object.keys(numbers)]

/** Reads the file that NDD_PROVIDERS names; an empty path means none. Adds what is wrong to `problems`. */
export function readProviders(path: string, environment: Environment, problems: string[]): readonly ProviderConfig[] {
  if (path === '') return []
  const found: string[] = []
  const providers = parseFile(path, environment, found)
  problems.push(...found.map((problem) => `NDD_PROVIDERS: ${problem}`))
  return found.length === 0 ? providers : []
}

function parseFile(path: string, environment: Environment, problems: string[]): readonly ProviderConfig[] {
  let value: unknown
  try {
    const bytes = readFileSync(path)
    if (bytes.length > fileBytesMax)
      throw new Error(`it has ${bytes.length} bytes, at most ${fileBytesMax} are allowed`)
    value = JSON.parse(bytes.toString())
  } catch (error) {
    // The messages of the parser repeat a part of the text, which may be a key by mistake.
    const why = error instanceof SyntaxError ? 'it is not JSON' : (error as Error).message
    problems.push(`the file cannot be read: ${why}`)
    return []
  }
  if (!isObject(value)) {
    problems.push('the file must have an object of providers by name')
    return []
  }
  const entries = Object.entries(value)
  if (entries.length > providersMax)
    problems.push(`${entries.length} providers are named, at most ${providersMax} are allowed`)
  return entries.map(([name, given]) => parseProvider(name, given, environment, problems))
}

function parseProvider(name: string, given: unknown, environment: Environment, problems: string[]): ProviderConfig {
  const shown = JSON.stringify(name.slice(0, 64))
  const refuse = (field: string, wanted: string, value: unknown) =>
    problems.push(`${field} of ${shown} must be ${wanted}, not ${printed(value)}`)
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name) || ['constructor', 'prototype'].includes(name))
    problems.push(`${shown} must be a name of 1 to 64 letters, digits, hyphens, and underscores`)
  const input: { readonly [key: string]: unknown } = isObject(given) ? given : {}
  if (!isObject(given)) problems.push(`${shown} must be an object with ${keys.join(', ')}`)
  for (const key of Object.keys(input)) {
    // Its value may be a key.
    if (!keys.includes(key))
      problems.push(
        `${JSON.stringify(key.slice(0, 64))} of ${shown} is not known; it has ${keys.join(', ')}. Keys come from the environment variable that key_env names`,
      )
  }
  const whole = (field: string, { fallback, min, max }: { fallback?: number; min: number; max: number }): number => {
    const value = input[field] ?? fallback
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
    refuse(field, `a whole number from ${min} to ${max}`, value)
    return min
  }
  const kind = providerKinds.find((one) => one === input.kind)
  if (kind === undefined) refuse('kind', `one of ${providerKinds.join(', ')}`, input.kind)
  const { model, send_dimension: sendsDimension = false } = input
  if (typeof model !== 'string' || model === '' || model.length > modelLengthMax || !model.isWellFormed())
    refuse('model', `the name of a model, 1 to ${modelLengthMax} characters`, model)
  if (typeof sendsDimension !== 'boolean') refuse('send_dimension', 'true or false', sendsDimension)
  const timeoutMs = whole('timeout_ms', numbers.timeout_ms)
  const deadlineMs = whole('deadline_ms', numbers.deadline_ms)
  if (deadlineMs < timeoutMs) refuse('deadline_ms', `at least timeout_ms, which is ${timeoutMs}`, deadlineMs)
  return {
    name,
    kind: kind ?? 'openai',
    url: parseUrl(input.url, refuse),
    key: parseKey(input.key_env, environment, refuse),
    model: String(model),
    dimension: whole('dimension', { min: dimensionMin, max: dimensionMax }),
    sendsDimension: sendsDimension === true,
    batchSize: whole('batch_size', numbers.batch_size),
    requestsPerMinute: whole('requests_per_minute', numbers.requests_per_minute),
    timeoutMs,
    deadlineMs,
    concurrency: whole('concurrency', numbers.concurrency),
    cacheBytes: whole('cache_mb', numbers.cache_mb) * mebibyte,
  }
}

type Refuse = (field: string, wanted: string, value: unknown) => void

function parseUrl(value: unknown, refuse: Refuse): string {
  const url = typeof value === 'string' && value.length <= urlLengthMax ? URL.parse(value) : null
  const isPlain = url !== null && url.username === '' && url.password === '' && url.hash === ''
  if (isPlain && /^https?:$/.test(url.protocol)) return url.href
  const wanted = 'an address that begins with https:// or http://, without a user, a password, or a fragment'
  refuse('url', wanted, typeof value === 'string' ? value.replace(/\/\/.*@/, '//***@') : value)
  return ''
}

function parseKey(value: unknown, environment: Environment, refuse: Refuse): (() => string) | undefined {
  if (value === undefined) return undefined
  const isName = typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(value)
  if (!isName) {
    // It may be the key itself, by mistake.
    refuse('key_env', 'the name of an environment variable', 'another text')
    return undefined
  }
  if (value.startsWith('NDD_')) {
    refuse('key_env', 'a variable that is not a setting of this server', value)
    return undefined
  }
  const key = environment[value]?.trim() ?? ''
  if (/^[\x21-\x7e]+$/.test(key)) return () => key
  refuse('key_env', 'a variable that is set to visible ASCII characters', value)
  return undefined
}

function printed(value: unknown): string {
  if (value === undefined) return 'missing'
  const text = typeof value === 'object' && value !== null ? 'an object' : JSON.stringify(value)
  return text.length > 100 ? `${text.slice(0, 100)}...` : text
}
