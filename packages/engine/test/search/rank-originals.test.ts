// Comparisons of many vectors on disk take turns, and those whose caller leaves meanwhile are not made.
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'tap'
import { rankOriginals, type VectorSource } from '../../src/search/rank-originals.ts'

const options = { k: 1, definition: { params: { dimension: 2, spaceType: 'ip' } } } as const
const query = Float32Array.of(1, 0)
const ordinals = Uint32Array.of(0, 1, 2, 3)

/** Its reads wait until `open` is called. */
function closedSource() {
  let open = (): void => undefined
  const opening = new Promise<void>((resolve) => {
    open = resolve
  })
  const reads: number[] = []
  const source: VectorSource = {
    atOnce: 1,
    async read([ordinal = -1]) {
      reads.push(ordinal)
      await opening
      return [Float32Array.of(ordinal, 0)]
    },
  }
  return { source, reads, open: () => open() }
}

test('a few comparisons read at one time, and all end', async (t) => {
  const { source, reads, open } = closedSource()
  const all = Array.from({ length: 50 }, () => rankOriginals(ordinals, source, options, query))
  await turn()
  t.ok(reads.length < 10, `${reads.length} of 50 have begun to read`)
  open()
  for (const best of await Promise.all(all)) t.strictSame([...best.ordinals], [3])
})

test('a comparison whose caller leaves is not begun, and reads no more', async (t) => {
  const { source, reads, open } = closedSource()
  const caller = { hasLeft: false }
  const left = Array.from({ length: 50 }, () => rankOriginals(ordinals, source, { ...options, caller }, query))
  await turn()
  const begun = reads.length
  const other = rankOriginals(ordinals, source, options, query)
  caller.hasLeft = true
  open()
  for (const end of await Promise.allSettled(left)) t.match(end, { status: 'rejected', reason: { code: 'closed' } })
  t.strictSame([...(await other).ordinals], [3])
  t.equal(reads.length, begun + ordinals.length + 1, 'only the other one has read, once more behind its end')
})

test('a failed read gives its turn back', async (t) => {
  const source: VectorSource = { atOnce: 1, read: () => Promise.reject(new Error('damaged')) }
  for (let i = 0; i < 20; i++) await t.rejects(rankOriginals(ordinals, source, options, query), /damaged/)
})
