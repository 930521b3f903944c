// Clauses that stand for several terms: which terms they stand for, that a search misses none that was acknowledged before it, and that other
// work goes on while many are looked for.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { type Collection, openEngine, type TextClause } from '../../src/index.ts'
import { editsBetween, type NumberedTerm, nearTerms, rangeOfPrefix, TermOrder } from '../../src/replica/term-order.ts'

/** Few letters, so that many words have the same beginning; one is a pair of surrogates. */
const word = fc
  .array(fc.constantFrom('a', 'b', 'é', '漢', '\u{20000}'), { maxLength: 6 })
  .map((letters) => letters.join(''))

test('terms near a word and with a beginning are those of a comparison one by one', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(word, { maxLength: 60 }),
      word,
      fc.integer({ min: 0, max: 2 }),
      async (words, wanted, edits) => {
        const order = new TermOrder(() => words.map((term, number): NumberedTerm => [number, term]))
        await order.renew()
        const { sorted } = order.view()
        const near = [...nearTerms(sorted, wanted, edits)].flatMap((found) => (found ? [[found[1], found[2]]] : []))
        const expected = words
          .map((term) => [term, distance([...wanted], [...term])] as const)
          .filter(([, d]) => d <= edits)
        t.strictSame(near.sort(), expected.map((one) => [...one]).sort())
        for (const term of words)
          t.equal(
            Math.min(editsBetween(wanted, term, edits), edits + 1),
            Math.min(distance([...wanted], [...term]), edits + 1),
          )
        const [from, to] = rangeOfPrefix(sorted, wanted)
        t.strictSame(
          sorted.slice(from, to).map(([, term]) => term),
          words.filter((term) => term.startsWith(wanted)).sort(byUnits),
        )
      },
    ),
    { numRuns: 200 },
  )
})

test('a view and what came since have every term, also when the order is made again', async (t) => {
  const terms: NumberedTerm[] = []
  const order = new TermOrder(() => terms)
  const put = (term: string) => {
    terms.push([terms.length, term])
    order.added(terms.length - 1, term)
  }
  put('a')
  await order.renew()
  const first = order.view()
  put('b')
  t.strictSame(order.since(first), [[1, 'b']])
  t.strictSame(first.sorted, [[0, 'a']])
  // More than are looked through one by one.
  for (let i = 0; i < 5_000; i++) put(`c${i}`)
  await order.renew()
  t.equal(order.since(first), undefined)
  const second = order.view()
  t.equal(second.sorted.length + second.recentEnd, terms.length)
})

test('searches by prefixes and of misspelled words let others run, and miss no acknowledged text', async (t) => {
  const collection = await withManyTerms(t)
  const clauses = (one: (i: number) => TextClause) => ({ should: Array.from({ length: 64 }, (_, i) => one(i)) })
  const letter = (i: number) => 'abcdefgh'[i % 8] as string
  for (const query of [
    clauses((i) => ({ prefix: letter(i) })),
    clauses((i) => ({ fuzzy: `${letter(i)}aaaaa`, edits: 2 })),
  ]) {
    let [turns, isOver] = [0, false]
    const count = () => {
      turns++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const search = collection.search({ fields: { body: { query, limit: 10 } } })
    // Terms that come while the others are gathered.
    for (let i = 0; i < 4; i++)
      await collection.upsert([{ id: `late-${i}`, fields: { body: `${letter(i)}aaaaa late${i}` } }])
    const { results } = await search
    isOver = true
    t.equal(results.body?.length, 10)
    t.ok(turns > 8, `${turns} turns of the event loop`)
    const wanted = { must: [{ fuzzy: 'haaaab', edits: 1 }, { prefix: 'zz' }] }
    const find = () => collection.search({ fields: { body: { query: wanted, limit: 1 } } })
    await collection.upsert([{ id: 'now', fields: { body: 'haaaaa zzz' } }])
    t.equal((await find()).results.body?.[0]?.id, 'now')
    await collection.delete(['now'])
    t.strictSame((await find()).results.body, [])
  }
})

test('of more terms than a clause may have, those are searched that most texts have', async (t) => {
  const collection = await withManyTerms(t)
  const often = Array.from({ length: 128 }, (_, i) => `ab${String.fromCharCode(97 + (i >> 4), 97 + (i & 15))}x`)
  for (let i = 0; i < 9; i++) await collection.upsert([{ id: `often-${i}`, fields: { body: often.join(' ') } }])
  const { explain } = await collection.search({
    fields: { body: { query: { should: [{ prefix: 'ab' }] }, limit: 200 } },
    explain: true,
  })
  const { terms = [] } = explain?.fields.body ?? {}
  t.ok(terms.length > 0)
  for (const { term, rows } of terms) t.ok(often.includes(term) && rows >= 9, `${term}: ${rows}`)
})

/** 60,000 different words of six letters in 600 texts. */
async function withManyTerms(t: Test): Promise<Collection> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-terms-'))
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
  const engine = await openEngine({ dataDir, threads: 2 })
  t.teardown(() => engine.close())
  const collection = await engine.database().createCollection({ name: 'c', fields: [{ name: 'body', type: 'text' }] })
  const nthWord = (n: number) => Array.from({ length: 6 }, (_, i) => 'abcdefgh'[(n >> (3 * i)) & 7]).join('')
  const texts = Array.from({ length: 600 }, (_, i) =>
    Array.from({ length: 100 }, (_, j) => nthWord(i * 100 + j)).join(' '),
  )
  await collection.upsert(texts.map((body, i) => ({ id: `${i}`, fields: { body } })))
  return collection
}

function byUnits(a: string, b: string): number {
  return a < b ? -1 : 1
}

/** Levenshtein's distance by its definition. */
function distance(a: readonly string[], b: readonly string[]): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) => [i, ...Array<number>(b.length).fill(0)])
  for (let j = 0; j <= b.length; j++) (table[0] as number[])[j] = j
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const at = (x: number, y: number) => table[x]?.[y] as number
      ;(table[i] as number[])[j] = Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
      )
    }
  }
  return table[a.length]?.[b.length] as number
}
