// A reader that is late: it has the memory that was announced with its version, and searches while the next event is applied and after it. Its
// results are those of its version, with its counts, because nothing that it can reach is reused or taken from it. One thread plays both sides, so
// every moment is certain.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import type { SharedBytes } from '../../src/memory/chunks.ts'
import { listsOf } from '../../src/readers/reader-lists.ts'
import type { ReplicaView } from '../../src/readers/replica-view.ts'
import type { SharedLists, SparseField, TermsList } from '../../src/vector/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { openSparseField } from '../../src/vector/sparse/field.ts'
import { instantiateSparseKernel } from '../../src/vector/sparse/kernel.ts'
import { fillDescriptor, readDescriptor } from '../../src/vector/sparse/query.ts'
import { changing, rarity, TermView, weighLists } from '../../src/vector/sparse/term-view.ts'
import { fault, randomTerms, rowsOfTerms, scoreAllRows, sparseDefinition, type Terms } from './sparse-world.ts'

const seed = chosenSeed()
const versions = process.env.ANNAL_LONG === '1' ? 600 : 40
const indices = 20_000

type Rows = ReadonlyMap<number, Terms>

/** What a reader has of a field as of a version. */
function readerOf(field: SparseField, rows: Rows, version: number) {
  const announced = field.shared
  const chunks = { terms: [...field.chunks.terms], termPages: [...field.chunks.termPages] }
  const words = (chunk: SharedBytes | undefined) => chunk && new Uint32Array(chunk.buffer)
  const view = {
    lists: () => announced,
    growths: 0,
    fieldWords: (_field: number, list: TermsList, chunk: number) => words(chunks[list][chunk]),
  } satisfies Pick<ReplicaView, 'lists' | 'growths' | 'fieldWords'> as unknown as ReplicaView
  const lists = listsOf(view, 0, { number: 1, settle: () => undefined })
  const truthOf = (query: Terms) =>
    scoreAllRows(rows, query, (index, value) => {
      const having = [...rows.values()].filter((row) => row.indices.includes(index)).length
      return value * rarity(rows.size, having)
    })
  return {
    announced,
    /** Finds the lists of a query. The rest of the search runs when the result is called. */
    begin(query: Terms, k: number): (() => string | undefined) | undefined {
      if (announced === undefined) return undefined
      const { handle, areas, vocabulary } = announced
      const { buffer } = handle.memory
      const views = {
        u32: new Uint32Array(buffer as SharedArrayBuffer),
        f32: new Float32Array(buffer as SharedArrayBuffer),
        f64: new Float64Array(buffer as SharedArrayBuffer),
      }
      const terms = new TermView(
        vocabulary,
        { terms: (chunk) => words(chunks.terms[chunk]), termPages: (chunk) => words(chunks.termPages[chunk]) },
        () => undefined,
      )
      const weighed = weighLists(query, { version, rows: rows.size }, views, (index) => terms.placeOf(index))
      if (weighed === changing || weighed.length === 0) return undefined
      return () => {
        fillDescriptor(views, areas.searches, weighed, { k, version, allowed: undefined })
        instantiateSparseKernel(handle.module, handle.memory).search(areas.searches)
        return fault({ ...readDescriptor(views, areas.searches), visited: 0, distances: 0 }, truthOf(query), k)
      }
    },
    search(query: Terms, k: number) {
      const truth = truthOf(query)
      const found = lists?.search({ query, k, version, rows: rows.size, matches: undefined }, { left: 1 })
      if (found === undefined) return truth.length === 0 ? undefined : 'there are no lists'
      return typeof found === 'string' ? found : fault({ ...found, visited: 0, distances: 0 }, truth, k)
    },
  }
}

test(`a late reader finds what its version has (ANNAL_SEED=${seed})`, async (t) => {
  const random = seededRandom(seed)
  const next = () => random.next()
  const pool = await openWorkerPool({ threads: 1, readers: 2 })
  t.teardown(() => pool.close())
  const field = await openSparseField(sparseDefinition('endee_bm25'), pool)
  t.teardown(() => field.close())
  let oldestRead = 0
  field.others = {
    get oldestRead() {
      return oldestRead
    },
  }
  const alive = new Map<number, Terms>()
  const resting: { readonly version: number; readonly rows: [number, Terms][] }[] = []
  const free: number[] = []
  const announcements = new Set<SharedLists | undefined>()
  const counts = { found: 0, again: 0, finished: 0 }
  const begun: (() => string | undefined)[] = []
  let begunWith = 0
  let end = 0
  for (let version = 1; version <= versions; version++) {
    const reader = readerOf(field, new Map(alive), version - 1)
    announcements.add(reader.announced)
    // Searches that were begun with the version are finished two events later.
    if (begun.length === 0 || version > begunWith + 3) {
      for (const finish of begun.splice(0)) {
        const wrong = finish()
        if (wrong !== undefined) t.fail(`a search of version ${begunWith}, finished before ${version}: ${wrong}`)
        counts.finished++
      }
      begunWith = version - 1
      for (let i = 0; i < 8; i++) {
        const search = reader.begin(randomTerms(next, 1 + random.below(12), indices), 1 + random.below(20))
        if (search !== undefined) begun.push(search)
      }
    }
    oldestRead = begun.length > 0 ? begunWith : version - 1
    const check = (when: string) => {
      for (let i = 0; i < 3; i++) {
        const query = randomTerms(next, 1 + random.below(12), indices)
        const wrong = reader.search(query, 1 + random.below(20))
        // The table of indices has grown, so an index that is not found may be elsewhere.
        if (wrong === 'again') counts.again++
        else if (wrong !== undefined) t.fail(`version ${version - 1} ${when}: ${wrong}`)
        else counts.found++
      }
    }
    check('before the event')
    const gone = random.below(9) === 0 ? [] : [...alive].filter(() => random.next() < 0.15)
    const many = random.below(6) === 0 ? 1200 : 80
    const ripe = resting[0] && resting[0].version < version - 5 ? resting.shift() : undefined
    let isApplied = false
    const applying = (async () => {
      if (ripe !== undefined) {
        await field.purge(version, rowsOfTerms(ripe.rows))
        free.push(...ripe.rows.map(([ordinal]) => ordinal))
      }
      const added = Array.from({ length: random.below(many) }, (): [number, Terms] => [
        free.shift() ?? end++,
        randomTerms(next, random.below(30), indices),
      ])
      await field.apply(version, rowsOfTerms(added), rowsOfTerms(gone))
      isApplied = true
      return added
    })()
    while (!isApplied) {
      check('while the next event is applied')
      await new Promise((resume) => setImmediate(resume))
    }
    const added = await applying
    check('after the next event')
    for (const [ordinal] of gone) alive.delete(ordinal)
    for (const [ordinal, terms] of added) alive.set(ordinal, terms)
    resting.push({ version, rows: gone })
    t.equal(field.rows, alive.size)
  }
  t.comment(JSON.stringify({ ...counts, announcements: announcements.size }))
  t.ok(counts.finished > 20, `${counts.finished} searches finished later`)
  t.ok(announcements.size > 1, 'the memory of the lookups was replaced')
  t.ok(counts.found > 5 * counts.again, `${counts.found} searches, ${counts.again} to be repeated`)
})
