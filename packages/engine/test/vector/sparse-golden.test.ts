// The bytes of sparse fields and of fields of texts in version 1 are still written and read. ANNAL_GOLDEN=write creates the files again, which only a new version
// of the format may need.
import { readFileSync, writeFileSync } from 'node:fs'
import tap, { test } from 'tap'
import { sourceOf } from '../../src/memory/sections.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { loadSparseField, openSparseField } from '../../src/vector/sparse/field.ts'
import { noRows, randomTerms, rowsOfTerms, sparseDefinition } from './sparse-world.ts'
import { randomText, randomTextQuery, rowsOfTexts } from './text-world.ts'
import { createRandom, dumpField } from './world.ts'

const file = new URL('../golden/sparse-1.bin', import.meta.url)
const textFile = new URL('../golden/text-1.bin', import.meta.url)
const definition = sparseDefinition('endee_bm25', 1_000)
const pool = await openWorkerPool({ threads: 1 })
tap.teardown(() => pool.close())

test('the golden sparse field is written byte for byte and returns the same results', async (t) => {
  const random = createRandom(1)
  const rows = Array.from({ length: 300 }, (_, i) => [i, randomTerms(random, 1 + (i % 7), 60)] as const)
  const field = await openSparseField(definition, pool)
  await field.apply(1, rowsOfTerms(rows), noRows)
  await field.apply(2, undefined, rowsOfTerms(rows.slice(0, 50)))
  await field.purge(3, rowsOfTerms(rows.slice(0, 20)))
  const written = await dumpField(field)
  if (process.env.ANNAL_GOLDEN === 'write') writeFileSync(file, written)
  const golden = readFileSync(file)
  t.ok(written.equals(golden), 'the same bytes')
  const loaded = await loadSparseField(definition, pool, sourceOf([golden]))
  t.equal(loaded.rows, 250)
  for (let i = 0; i < 10; i++) {
    const query = randomTerms(random, 5, 60)
    t.same(await loaded.search(query, { k: 9, version: 2 }), await field.search(query, { k: 9, version: 2 }))
  }
  await Promise.all([field.close(), loaded.close()])
})

test('the golden field of texts is written byte for byte and returns the same results', async (t) => {
  const random = createRandom(1)
  const rows = Array.from({ length: 300 }, (_, i) => [i, randomText(random, i % 9, 60)] as const)
  const field = await openSparseField({ name: 'body' }, pool, 'counts')
  await field.apply(1, rowsOfTexts(rows), noRows)
  await field.apply(2, undefined, rowsOfTexts(rows.slice(0, 50)))
  await field.purge(3, rowsOfTexts(rows.slice(0, 20)))
  const written = await dumpField(field)
  if (process.env.ANNAL_GOLDEN === 'write') writeFileSync(textFile, written)
  const golden = readFileSync(textFile)
  t.ok(written.equals(golden), 'the same bytes')
  const loaded = await loadSparseField({ name: 'body' }, pool, sourceOf([golden]), 'counts')
  t.equal(loaded.rows, 250)
  for (let i = 0; i < 10; i++) {
    const query = randomTextQuery(random, 3, 60, 0.3)
    t.same(await loaded.search(query, { k: 9, version: 2 }), await field.search(query, { k: 9, version: 2 }))
  }
  await Promise.all([field.close(), loaded.close()])
})
