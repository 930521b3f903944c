// Objects as large as every limit allows at once: each is stored and read back, and one byte more is refused before anything is written.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'tap'
import { openEngine } from '../src/index.ts'
import { filterBytesMax, metaBytesMax, objectTermsBytesMax, sparseTermsMax, textBytesMax } from '../src/limits.ts'
import { valueBytesMax } from '../src/memory/size-class.ts'
import { expiryBytes } from '../src/model/stored-text.ts'
import { sparseStart } from '../src/replica/object-record.ts'

test('a record holds the largest meta, filter values, texts, and terms', (t) => {
  t.ok(sparseStart(metaBytesMax + filterBytesMax + expiryBytes) + objectTermsBytesMax <= valueBytesMax)
  t.end()
})

test('the largest objects are stored and read again, larger ones are refused', async (t) => {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-largest-'))
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
  const engine = await openEngine({ dataDir, threads: 1 })
  const fields = [
    { name: 'a', type: 'sparse' },
    { name: 'b', type: 'sparse' },
    { name: 'c', type: 'text', params: { prefixes: { min: 1, max: 20 } } },
    { name: 'd', type: 'text' },
  ] as const
  const collection = await engine.database().createCollection({ name: 'c', fields })
  const sparse = (terms: number) => ({
    indices: Uint32Array.from({ length: terms }, (_, i) => i),
    values: new Float32Array(terms).fill(1),
  })
  const meta = new Uint8Array(metaBytesMax).fill(7)
  const filter = Object.fromEntries(Array.from({ length: 63 }, (_, i) => [`k${i}`, 'x'.repeat(1_020)]))
  const put = (id: string, of: object) =>
    collection.upsert([{ id, meta, filter, expiresAt: Date.now() + 1e9, fields: of }])
  const refused = (of: object, details: object) =>
    t.rejects(put('refused', of), { code: 'limit_exceeded', details }, JSON.stringify(details))

  const rest = Math.floor((objectTermsBytesMax - 16) / 8) - sparseTermsMax
  await put('sparse', { a: sparse(sparseTermsMax), b: sparse(rest) })
  await refused(
    { a: sparse(sparseTermsMax), b: sparse(rest + 1) },
    { field: 'objects[0].fields', limit: objectTermsBytesMax },
  )
  await refused({ a: sparse(sparseTermsMax), b: sparse(sparseTermsMax) }, { limit: objectTermsBytesMax })
  // One word, and the largest text of one term next to the largest other one that still has room.
  const long = 'x'.repeat(textBytesMax)
  await put('word', { c: long })
  await refused({ c: `${long}x` }, { field: 'objects[0].fields.c', limit: textBytesMax })
  await refused({ c: long, d: long }, { field: 'objects[0].fields', limit: objectTermsBytesMax })
  // The text c has a term and 20 prefixes, d one term; each has a head of 12 bytes.
  const left = objectTermsBytesMax - 2 * 12 - textBytesMax - 21 * 8 - 8
  await refused({ c: long, d: 'y'.repeat(left + 4) }, { field: 'objects[0].fields', limit: objectTermsBytesMax })
  await put('two texts', { c: long, d: 'y'.repeat(left) })
  const texts = (await collection.get('two texts'))?.text
  t.ok(texts?.c === long && texts.d === 'y'.repeat(left))
  // Filter values and meta that come later fit as well.
  await collection.updateFilters([{ id: 'sparse', filter: { ...filter, more: 'y'.repeat(400) } }])
  await engine.close()

  const again = await openEngine({ dataDir, threads: 1 })
  const read = await again.database().collection('c').getMany(['sparse', 'word', 'two texts'])
  t.strictSame(
    read.map((object) => object?.id),
    ['sparse', 'word', 'two texts'],
  )
  await again.close()
})
