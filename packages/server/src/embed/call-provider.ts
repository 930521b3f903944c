// One call of a provider: what is sent, how much of the reply is read, and what is wrong with it. No message has the address, the key, or
// anything that the provider wrote: it may repeat the key.
import type { EmbedPurpose } from '@annal/engine'
import { isObject } from '../json-object.ts'
import type { ProviderConfig } from './provider-config.ts'
import { shapes } from './shapes.ts'

/** Why a call made no vectors. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure'
  /** `late`, `limited`, and `later`: the same call may succeed later. `divide`: one of its texts may be the reason. */
  readonly kind: 'late' | 'limited' | 'later' | 'divide' | 'final'
  /** What the provider asks to wait. */
  readonly retryAfterMs: number | undefined

  constructor(kind: CallFailure['kind'], message: string, retryAfterMs?: number) {
    super(message)
    this.kind = kind
    this.retryAfterMs = retryAfterMs
  }
}

/** Bytes of a number in a reply, with its separator and some space. */
const numberBytes = 40
const replyBytesMin = 65_536
const retryAfterMsMax = 3_600_000

/** Resolves to one vector for each text. Rejects with CallFailure. */
export async function callProvider(
  config: ProviderConfig,
  texts: readonly string[],
  purpose: EmbedPurpose,
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const reply = await exchange(config, texts, purpose, signal)
  const vectors = isObject(reply) ? shapes[config.kind].vectors(reply) : undefined
  if (vectors === undefined) throw new CallFailure('final', 'the provider replied in another form than its kind has')
  if (vectors.length !== texts.length)
    throw new CallFailure('final', `the provider returned ${vectors.length} vectors for ${texts.length} texts`)
  return vectors.map((vector) => checkedVector(vector, config.dimension))
}

async function exchange(
  config: ProviderConfig,
  texts: readonly string[],
  purpose: EmbedPurpose,
  signal: AbortSignal,
): Promise<unknown> {
  const { kind, url, key, model, dimension, sendsDimension } = config
  const body = shapes[kind].body({ model, texts, purpose, dimension: sendsDimension ? dimension : undefined })
  let response: Response | undefined
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...(key && { authorization: `Bearer ${key()}` }),
      },
      body: JSON.stringify(body),
      // A redirect would send the texts, and maybe the key, to an address that the operator has not named.
      redirect: 'manual',
      signal,
    })
    if (response.status !== 200) throw refusal(response)
    const bytesMax = replyBytesMin + texts.length * dimension * numberBytes
    return JSON.parse(await readText(response, bytesMax))
  } catch (error) {
    throw failureOf(error, signal)
  } finally {
    // The rest of a reply that is not read. It settles alone.
    if (response?.body?.locked === false) response.body.cancel().catch(() => undefined)
  }
}

function refusal({ status, headers }: Response): CallFailure {
  const message = `the provider replied ${status}`
  if (status === 429) return new CallFailure('limited', message, waitOf(headers.get('retry-after')))
  if (status >= 500 || status === 408) return new CallFailure('later', message, waitOf(headers.get('retry-after')))
  if (status === 400 || status === 413 || status === 422) return new CallFailure('divide', message)
  return new CallFailure(
    'final',
    status >= 300 && status < 400 ? `${message}, and redirects are not followed` : message,
  )
}

/** Seconds or a date. */
function waitOf(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d{1,6}(\.\d{1,3})?$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), retryAfterMsMax) : undefined
}

/** Stops before it takes more memory than a valid reply needs. */
async function readText({ headers, body }: Response, bytesMax: number): Promise<string> {
  const refuse = (): never => {
    throw new CallFailure('final', `the reply of the provider has more than ${bytesMax} bytes`)
  }
  if (Number(headers.get('content-length') ?? 0) > bytesMax) refuse()
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.length
    if (bytes > bytesMax) refuse()
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

function failureOf(error: unknown, signal: AbortSignal): CallFailure {
  if (error instanceof CallFailure) return error
  if (signal.aborted) return new CallFailure('late', 'the provider did not reply in time')
  if (error instanceof SyntaxError) return new CallFailure('final', 'the reply of the provider is not JSON')
  return new CallFailure('later', `the provider cannot be reached${systemCode(error)}`)
}

/** The code of the system. The message of the error has the address. */
function systemCode(error: unknown): string {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    const { code } = one as { readonly code?: unknown }
    if (typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code)) return ` (${code})`
  }
  return ''
}

function checkedVector(vector: unknown, dimension: number): Float32Array {
  if (!Array.isArray(vector)) throw new CallFailure('final', 'the provider returned a value that is not a vector')
  if (vector.length !== dimension) {
    const message = `the provider returned a vector of ${vector.length} numbers; its configuration says ${dimension}`
    throw new CallFailure('final', message)
  }
  if (!vector.every((value) => typeof value === 'number' && Number.isFinite(Math.fround(value))))
    throw new CallFailure('final', 'the provider returned a vector with a value that is not a finite number')
  return Float32Array.from(vector as number[])
}
