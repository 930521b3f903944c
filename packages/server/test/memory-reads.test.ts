// Many clients ask a server with little memory for the largest replies at one time, and get them or an error of the
// limits: the kernel ends nothing, and every request gets a reply or an error that says what is too much. Long form: for longer.
import tap, { test } from 'tap'
import { memoryLimitMin } from '../src/memory-limit.ts'
import { until } from './eventually.ts'
import { call, filledObject } from './memory-load.ts'
import { serveDocs, skipMemory } from './memory-server.ts'

tap.setTimeout(3_600_000)

const eachMs = process.env.ANNAL_LONG === '1' ? 30_000 : 1_500
const clients = 32
const limit = 512
const dense = (i: number) => ({ query: filledObject(i).fields.dense, limit })
const ids = Array.from({ length: 1_000 }, (_, i) => `o${i}`)
/** Routes below the collection, and their largest requests. */
const reads: readonly (readonly [route: string, body: (i: number) => object])[] = [
  ['objects/scroll', () => ({ limit: 1_000 })],
  ['objects/query', () => ({ ids })],
  ['search', (i) => ({ fields: { dense: dense(i) }, include_vectors: true })],
  [
    'search',
    (i) => {
      const { terms, pages } = filledObject(i).fields
      const fields = { dense: dense(i), terms: { query: terms, limit }, pages: { query: pages, limit } }
      return { fields: { ...fields, body: { query: 'word1 word3 word7', limit } }, fusion: { method: 'rrf', limit } }
    },
  ],
  ['search/batch', (i) => ({ searches: Array.from({ length: 100 }, (_, j) => ({ fields: { dense: dense(i + j) } })) })],
]

test(`the largest reads of ${clients} clients, with ${memoryLimitMin / 2 ** 20} MiB`, {
  skip: skipMemory,
}, async (t) => {
  const { group, server, url } = await serveDocs(t, memoryLimitMin, 2)
  for (const [route, body] of reads) {
    const read = (i: number) => call(url, 'POST', `/api/v2/collection/docs/${route}`, body(i))
    const outcomes = new Map<string, number>()
    const endMs = performance.now() + eachMs
    const reader = async (first: number): Promise<void> => {
      for (let i = first; performance.now() < endMs; i++) {
        const { status, text, retryAfterMs } = await read(i)
        const outcome = status === 200 ? '200' : `${status} ${(JSON.parse(text) as { code: string }).code}`
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        await new Promise((resolve) => setTimeout(resolve, retryAfterMs / 10))
      }
    }
    await Promise.all(Array.from({ length: clients }, (_, i) => reader(100 * i)))
    t.comment(`${route}: ${JSON.stringify([...outcomes])}`)
    t.equal(await group.kills(), 0, `${route}: the kernel ended nothing`)
    t.same(
      [...outcomes.keys()].filter((one) => !['200', '503 overloaded', '400 reply_too_large'].includes(one)),
      [],
      route,
    )
    // Other threads collect their garbage a moment later.
    const expected = route === 'search/batch' ? 400 : 200
    const begunMs = performance.now()
    await until(async () => (await read(0)).status === expected)
    t.comment(`${route} alone after ${(performance.now() - begunMs).toFixed(0)} ms`)
  }
  t.equal(server.child.exitCode ?? server.child.signalCode, null, 'the same process serves')
})
