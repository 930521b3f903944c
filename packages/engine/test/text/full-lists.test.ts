// The lists of a text field are full: a write that might not fit is refused by name, and nothing else changes. With a small bound, and in long runs with
// that of 4 GiB: 100 million postings, which take about 4 GiB of memory and 3 GiB of disk.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openWorkerPool } from '@annal/engine/testing'
import { seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { type Collection, type Engine, EngineError, openEngine } from '../../src/index.ts'
import { textTermsMax } from '../../src/limits.ts'
import { memoryBytesMax } from '../../src/vector/shared-memory.ts'

tap.setTimeout(3_600_000)

const bytesNeeded = 10 * 2 ** 30

interface Size {
  readonly listsBytesMax: number
  /** Different terms of the text that all objects have. */
  readonly terms: number
  readonly batchObjects: number
}

const small: Size = { listsBytesMax: 3 * 2 ** 20, terms: 500, batchObjects: 40 }
const real: Size = { listsBytesMax: memoryBytesMax, terms: textTermsMax * 0.95, batchObjects: 300 }
const skipReal =
  (process.env.ANNAL_LONG !== '1' && 'ANNAL_LONG=1 runs it') ||
  (os.freemem() < bytesNeeded && `needs ${bytesNeeded / 2 ** 30} GiB of free memory`)

test('a write that might not fit into the lists is refused, and nothing else changes', (t) => fill(t, small))
test('the same with lists of 4 GiB', { skip: skipReal }, (t) => fill(t, real))

/** All prefixes of the words of this text are terms. */
function textOfTerms(termsMin: number): string {
  const random = seededRandom(20261127)
  const terms = new Set<string>()
  const words: string[] = []
  while (terms.size < termsMin) {
    const word = Array.from({ length: 12 }, () => String.fromCharCode(97 + random.below(26))).join('')
    for (let end = 1; end <= word.length; end++) terms.add(word.slice(0, end))
    words.push(word)
  }
  return words.join(' ')
}

/** The error of a write; undefined if it was accepted. */
async function refusalOf(write: Promise<unknown>): Promise<EngineError | undefined> {
  try {
    await write
    return undefined
  } catch (error) {
    if (error instanceof EngineError) return error
    throw error
  }
}

async function fill(t: Test, { listsBytesMax, terms, batchObjects }: Size): Promise<void> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'annal-full-lists-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const dataDir = path.join(dir, 'data')
  const pool = Object.assign(await openWorkerPool({ threads: 1 }), { listsBytesMax })
  t.teardown(() => pool.close())
  const open = () => openEngine({ dataDir, threads: 1, fsync: 'interval', keepLog: true }, { pool })
  const text = textOfTerms(terms)
  const batch = (number: number) =>
    Array.from({ length: batchObjects }, (_, i) => ({ id: `${number} ${i}`, fields: { body: text } }))

  let engine = await open()
  const fields = [{ name: 'body', type: 'text', params: { prefixes: { min: 1, max: 12 } } }] as const
  const full = await engine.database().createCollection({ name: 'full', fields })
  await engine.database().createCollection({ name: 'other', fields })
  let batches = 0
  await fillUp()
  t.comment(`full after ${batches} batches of ${batchObjects} objects: ${JSON.stringify(full.describe().memory)}`)
  t.ok(batches > 1)
  await checkFull('running')
  await engine.close()
  engine = await open()
  await checkFull('after a restart')
  await engine.close()
  rmSync(path.join(dataDir, 'checkpoints'), { recursive: true })
  engine = await open()
  await checkFull('after a replay of the log')
  await engine.close()

  /** Lists that were loaded again take less memory, so a write that was refused before a restart may fit after it. */
  async function fillUp(): Promise<void> {
    const [full] = collectionsOf(engine)
    await full.served()
    t.equal(full.count().count, batches * batchObjects, 'nothing is lost')
    while ((await refusalOf(full.upsert(batch(batches)))) === undefined) batches++
    t.equal(full.count().count, batches * batchObjects)
  }

  async function checkFull(when: string): Promise<void> {
    await fillUp()
    const [full, other] = collectionsOf(engine)
    const before = await stateOf(full)
    for (let attempt = 0; attempt < 2; attempt++) {
      const error = await refusalOf(full.upsert(batch(batches)))
      t.match(error, { code: 'memory_exhausted', details: { field: 'body', limit: listsBytesMax } }, `${when}: refused`)
      t.match(
        error?.message,
        `field "body": the lists of a field can use at most ${listsBytesMax} bytes, and this write might need more`,
      )
      t.strictSame(await stateOf(full), before, `${when}: nothing was applied`)
      t.strictSame(await full.getMany([`${batches} 0`]), [])
    }
    await other.upsert([{ id: when, fields: { body: 'other collections go on' } }])
    const found = await other.search({ fields: { body: { query: 'collections', limit: 10 } } })
    t.ok(found.results.body?.some(({ id }) => id === when))
    await full.upsert([{ id: 'small', fields: { body: 'a small text fits' } }])
    t.equal((await full.search({ fields: { body: { query: 'small' } } })).results.body?.[0]?.id, 'small')
    await full.delete(['small'])
  }

  /** What must stay as it is. */
  async function stateOf(collection: Collection) {
    const word = text.slice(0, 12)
    const { results } = await collection.search({ fields: { body: { query: word, limit: 3 } } })
    return {
      lsn: collection.describe().lsn,
      count: collection.count().count,
      matching: await collection.count({ match: { body: { query: word } } }),
      hits: results.body?.map(({ id, similarity }) => ({ id, similarity })),
    }
  }
}

function collectionsOf(engine: Engine): readonly [Collection, Collection] {
  const database = engine.database()
  return [database.collection('full'), database.collection('other')]
}
