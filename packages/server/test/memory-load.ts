// Honest clients that fill a server with objects of four fields until it refuses them for memory, and check what it acknowledged.

const batch = 1_000
const dimension = 128
const members = 3
const memberDimension = 32
const words = 20_000

export const filledDefinition = (name: string) => ({
  name,
  fields: [
    { name: 'dense', type: 'vector', params: { dimension, space_type: 'cosine', m: 8, ef_construct: 16 } },
    { name: 'terms', type: 'sparse', sparse_model: 'default' },
    {
      name: 'pages',
      type: 'multi_vector',
      params: { dimension: memberDimension, space_type: 'cosine', m: 8, ef_construct: 16 },
    },
    { name: 'body', type: 'text', params: { language: 'english' } },
  ],
})

/** Numbers from 0 to 1 that depend on the seed only. */
function numbers(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

/** An object whose content depends on its number only. */
export function filledObject(i: number) {
  const next = numbers(i + 1)
  const vector = (length: number) => Array.from({ length }, () => Math.round(2_000 * next() - 1_000) / 1_000)
  const indices = [...new Set(Array.from({ length: 24 }, () => Math.floor(next() ** 3 * 30_000)))].sort((a, b) => a - b)
  const body = Array.from({ length: 30 }, () => `word${Math.floor(next() ** 2 * words)}`).join(' ')
  return {
    id: `o${i}`,
    meta: { number: i, title: `object ${i}` },
    filter: { color: i % 7, group: `g${i % 97}` },
    fields: {
      dense: vector(dimension),
      terms: { indices, values: indices.map(() => Math.round(1_000 * next() + 1) / 1_000) },
      pages: Array.from({ length: members }, () => vector(memberDimension)),
      body,
    },
  }
}

export interface Reply {
  readonly status: number
  readonly text: string
  /** 0 without Retry-After. */
  readonly retryAfterMs: number
}

/** `json` is a value, or its text. */
export async function call(url: string, method: string, path: string, json?: unknown): Promise<Reply> {
  const ask = () =>
    fetch(url + path, {
      method,
      headers: { accept: 'application/json', ...(json !== undefined && { 'content-type': 'application/json' }) },
      ...(json !== undefined && { body: typeof json === 'string' ? json : JSON.stringify(json) }),
    })
  // Once more like clients do, because the server may close an idle connection just as it is used again. Repeating an upsert changes nothing.
  const reply = await ask().catch(ask)
  const retryAfterMs = 1_000 * Number(reply.headers.get('retry-after') ?? 0)
  return { status: reply.status, text: await reply.text(), retryAfterMs }
}

export interface FillOptions {
  readonly url: string
  readonly collection: string
  readonly clients: number
  /** Number of the first object. */
  readonly from?: number
  /** Each client stops after this many refusals in a row. */
  readonly refusalsMax?: number
  /** All stop when this many batches were sent. */
  readonly batchesMax?: number
  readonly onReply?: (reply: Reply, sent: number) => void
}

export interface Filled {
  /** First number of each acknowledged batch. */
  readonly acknowledged: readonly number[]
  /** Replies with 507, and with 503. */
  readonly refused: number
  readonly overloaded: number
  /** Replies with another status than 200, 503 and 507, and connections that failed; at most ten. */
  readonly failures: readonly string[]
  readonly lastRefusal: string
  /** Messages of replies with 503, without their numbers, and how often each came. */
  readonly overloads: ReadonlyMap<string, number>
}

/** Made in slices, because the bodies of other clients are sent meanwhile: the server expects them within a time. */
async function batchBody(first: number): Promise<string> {
  const texts: string[] = []
  for (let i = 0; i < batch; i++) {
    texts.push(JSON.stringify(filledObject(first + i)))
    if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  return `{"objects":[${texts.join()}]}`
}

/**
 * Clients upsert batches of 1,000 objects, each its next one as soon as the last one was accepted or refused. Like
 * clients, they send one that was refused with 503 again, after its Retry-After.
 */
export async function fill(options: FillOptions): Promise<Filled> {
  const { url, collection, clients, from = 0, refusalsMax = 3, batchesMax = 100_000, onReply } = options
  const acknowledged: number[] = []
  const failures: string[] = []
  const overloads = new Map<string, number>()
  let [refused, overloaded, sent, lastRefusal] = [0, 0, 0, '']
  const client = async (): Promise<void> => {
    for (let refusals = 0; refusals < refusalsMax && sent < batchesMax && failures.length < 10; ) {
      const first = from + sent++ * batch
      const body = await batchBody(first)
      const send = () =>
        call(url, 'POST', `/api/v2/collection/${collection}/objects`, body).catch((error: Error) => ({
          status: 0,
          text: `${error.message}: ${String(error.cause)}`,
          retryAfterMs: 0,
        }))
      let reply = await send()
      for (; reply.status === 503; reply = await send()) {
        overloaded += 1
        const { error } = JSON.parse(reply.text) as { error: string }
        const message = error.replaceAll(/\d+/g, 'N')
        overloads.set(message, (overloads.get(message) ?? 0) + 1)
        await new Promise((resolve) => setTimeout(resolve, reply.retryAfterMs))
      }
      onReply?.(reply, sent)
      if (reply.status === 200) {
        acknowledged.push(first)
        refusals = 0
      } else if (reply.status === 507) {
        refused += 1
        refusals += 1
        lastRefusal = reply.text
      } else {
        failures.push(`${reply.status} ${reply.text.slice(0, 300)}`)
        if (reply.status === 0) return
      }
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return { acknowledged, refused, overloaded, failures, lastRefusal, overloads }
}

/** Numbers of acknowledged objects whose content is missing or differs from what was sent. */
export async function missing(url: string, collection: string, { acknowledged }: Filled): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const first of acknowledged) {
    const numbers = Array.from({ length: batch }, (_, i) => first + i)
    const ids = numbers.map((i) => `o${i}`)
    const path = `/api/v2/collection/${collection}/objects/query`
    const reply = await call(url, 'POST', path, { ids, include_vectors: false })
    if (reply.status !== 200) {
      wrong.push(`${reply.status} ${reply.text.slice(0, 300)}`)
      continue
    }
    const { objects } = JSON.parse(reply.text) as { objects: { id: string; meta: { number: number } }[] }
    const found = new Map(objects.map(({ id, meta }) => [id, meta]))
    for (const i of numbers) if (found.get(`o${i}`)?.number !== i) wrong.push(`o${i}`)
  }
  return wrong
}
