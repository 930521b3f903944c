// A reader of a field of texts that is late: it weighs a query in the memory that was announced with its version, and runs it up to two events later.
// Rows, counts, and the average length are those of its version. One thread plays both sides, so every moment is certain.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import type { SharedBytes } from '../../src/memory/chunks.ts'
import type { SparseField, TextQuery } from '../../src/vector/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { openSparseField } from '../../src/vector/sparse/field.ts'
import { instantiateSparseKernel } from '../../src/vector/sparse/kernel.ts'
import { searchAreaBytes } from '../../src/vector/sparse/memory.ts'
import { descriptorBytes, fillDescriptor, readDescriptor } from '../../src/vector/sparse/query.ts'
import { changing, TermView } from '../../src/vector/sparse/term-view.ts'
import { weighTexts } from '../../src/vector/sparse/text-lists.ts'
import { randomText, randomTextQuery, rowsOfTexts, scoreAllTexts, type Text, wrongHits } from './text-world.ts'

const seed = chosenSeed()
const versions = process.env.ANNAL_LONG === '1' ? 600 : 40
const terms = 2_000
const k = 15

/** Weighs a query as of a version. The rest of the search runs when the result is called. 'again': the owner changed what was read. */
function begin(
  field: SparseField,
  version: number,
  query: TextQuery,
): (() => ReturnType<typeof readDescriptor>) | 'again' | undefined {
  const { shared } = field
  if (shared === undefined) return undefined
  const { handle, areas, vocabulary } = shared
  const buffer = handle.memory.buffer as SharedArrayBuffer
  const views = { u32: new Uint32Array(buffer), f32: new Float32Array(buffer), f64: new Float64Array(buffer) }
  const chunks = { terms: [...field.chunks.terms], termPages: [...field.chunks.termPages] }
  const words = (chunk: SharedBytes | undefined) => chunk && new Uint32Array(chunk.buffer)
  const lookups = { terms: (i: number) => words(chunks.terms[i]), termPages: (i: number) => words(chunks.termPages[i]) }
  const view = new TermView(vocabulary, lookups, () => undefined)
  const weighed = weighTexts(query, version, views, (index) => view.placeOf(index))
  if (weighed === changing) return 'again'
  if (weighed === undefined) return undefined
  const { lists, impacts } = weighed
  if (descriptorBytes(lists, k, impacts) > searchAreaBytes) throw new Error('no space in the area of a reader')
  return () => {
    fillDescriptor(views, areas.searches, lists, { k, version, allowed: undefined, impacts })
    instantiateSparseKernel(handle.module, handle.memory).search(areas.searches)
    return readDescriptor(views, areas.searches)
  }
}

test(`a late reader of texts finds what its version has (ANNAL_SEED=${seed})`, async (t) => {
  const random = seededRandom(seed)
  const next = () => random.next()
  const pool = await openWorkerPool({ threads: 1, readers: 2 })
  t.teardown(() => pool.close())
  const field = await openSparseField({ name: 'body' }, pool, 'counts')
  t.teardown(() => field.close())
  let oldestRead = 0
  field.others = {
    get oldestRead() {
      return oldestRead
    },
  }
  const alive = new Map<number, Text>()
  const resting: { readonly version: number; readonly rows: [number, Text][] }[] = []
  const free: number[] = []
  const late: { readonly version: number; readonly check: () => void }[] = []
  const counts = { found: 0, again: 0, empty: 0, late: 0 }
  let end = 0
  const search = (version: number, rows: ReadonlyMap<number, Text>, when: string, isLate = false) => {
    const query = randomTextQuery(next, 1 + random.below(7), terms, [0, 0.4, 1][random.below(3)] ?? 0)
    const truth = scoreAllTexts(rows, query)
    const finish = begin(field, version, query)
    if (finish === 'again') counts.again++
    else if (finish === undefined) {
      counts.empty++
      if (truth.length > 0) t.fail(`version ${version} ${when}: no hits, not ${truth.length}`)
    } else {
      const check = () => {
        const wrong = wrongHits(finish(), truth, k)
        if (wrong !== undefined) t.fail(`version ${version} ${when}: ${wrong}`)
        counts.found++
      }
      if (isLate) late.push({ version, check })
      else check()
    }
  }
  for (let version = 1; version <= versions; version++) {
    const rows = new Map(alive)
    while (late[0] !== undefined && late[0].version < version - 3) {
      late.shift()?.check()
      counts.late++
    }
    for (let i = 0; i < 4; i++) search(version - 1, rows, 'finished later', true)
    oldestRead = late[0]?.version ?? version - 1
    search(version - 1, rows, 'before the event')
    const gone = random.below(9) === 0 ? [] : [...alive].filter(() => random.next() < 0.15)
    const ripe = resting[0] !== undefined && resting[0].version < version - 5 ? resting.shift() : undefined
    const many = random.below(6) === 0 ? 1_200 : 80
    let isApplied = false
    const applying = (async () => {
      if (ripe !== undefined) {
        await field.purge(version, rowsOfTexts(ripe.rows))
        free.push(...ripe.rows.map(([ordinal]) => ordinal))
      }
      const added = Array.from({ length: random.below(many) }, (): [number, Text] => [
        free.shift() ?? end++,
        randomText(next, random.below(40), terms),
      ])
      await field.apply(version, rowsOfTexts(added), rowsOfTexts(gone))
      isApplied = true
      return added
    })()
    while (!isApplied) {
      search(version - 1, rows, 'while the next event is applied')
      await new Promise((resume) => setImmediate(resume))
    }
    const added = await applying
    search(version - 1, rows, 'after the next event')
    for (const [ordinal] of gone) alive.delete(ordinal)
    for (const [ordinal, text] of added) alive.set(ordinal, text)
    resting.push({ version, rows: gone })
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.late > 50, `${counts.late} searches finished later`)
  t.ok(counts.found > 5 * counts.again, `${counts.found} searches, ${counts.again} to be repeated`)
})
