// A collection with a text field next to a plain list of the same texts, which is searched by the formula of BM25.
import type { Test } from 'tap'
import type { Collection, CountRequest, TextQuery } from '../../src/index.ts'

const vocabulary = Array.from({ length: 40 }, (_, i) => `${String.fromCharCode(97 + (i % 7))}word${i}`)
const [k1, b] = [1.2, 0.75]

/** A collection, now or as of a moment. */
interface TextReader extends Pick<Collection, 'getMany' | 'search' | 'scroll'> {
  count(request?: CountRequest): { readonly count: number } | Promise<{ readonly count: number }>
}

export class TextWorld {
  #state: number
  readonly #texts: Map<string, string>

  constructor(seed: number, texts: ReadonlyMap<string, string> = new Map()) {
    this.#state = seed
    this.#texts = new Map(texts)
  }

  copy(): TextWorld {
    return new TextWorld(this.#state, this.#texts)
  }

  /** All ids that objects can have. */
  ids(below: number): string[] {
    return Array.from({ length: below }, (_, i) => `id ${i}`)
  }

  #random(below: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * below)
  }

  #text(): string {
    const words = Array.from({ length: this.#random(12) }, () => {
      // Some words are much more frequent than others.
      const place = Math.floor((this.#random(1_000) / 1_000) ** 2 * vocabulary.length)
      return vocabulary[place] as string
    })
    return words.join(this.#random(2) === 0 ? ' ' : ', ')
  }

  /** Writes and deletes objects, a few at a time. */
  async change(collection: Collection, writes: number): Promise<void> {
    if (this.#texts.size === 0) await collection.deleteWhere([{ odd: { $exists: true } }])
    for (let written = 0; written < writes; ) {
      const ids = [...new Set(Array.from({ length: 1 + this.#random(8) }, () => `id ${this.#random(150)}`))]
      written += ids.length
      if (this.#random(4) === 0) {
        await collection.delete(ids)
        for (const id of ids) this.#texts.delete(id)
        continue
      }
      const objects = ids.map((id) => ({ id, fields: { body: this.#text() } }))
      await collection.upsert(objects)
      for (const { id, fields } of objects) this.#texts.set(id, fields.body)
    }
  }

  /** Compares all texts, and the answers of some searches. */
  async check(t: Test, collection: TextReader, what: string): Promise<void> {
    const stored = await collection.getMany([...this.#texts.keys()])
    t.strictSame(new Map(stored.map(({ id, text }) => [id, text.body])), this.#texts, `${what}: texts`)
    t.equal((await collection.count()).count, this.#texts.size, `${what}: count`)
    for (let i = 0; i < 30; i++) {
      const query = this.#query()
      const found = await collection.search({ fields: { body: { query, limit: 20 } } })
      const hits = (found.results.body ?? []).map(({ id, similarity }) => ({ id, similarity }))
      const expected = this.#expected(query)
      const best = expected.slice(0, 20)
      const isRight =
        hits.length === best.length &&
        hits.every(({ id, similarity }, at) => {
          const score = expected.find((one) => one.id === id)?.similarity ?? Number.NaN
          const isScored = Math.abs(similarity - score) <= 1e-6 * score
          return isScored && Math.abs(similarity - (best[at]?.similarity ?? 0)) <= 1e-6 * score
        })
      const matching = { match: { body: { query } } }
      const ids = new Set(expected.map(({ id }) => id))
      const { count } = await collection.count(matching)
      const pages = await pagesOf(collection, matching)
      if (count !== ids.size || pages.length !== ids.size || !pages.every((id) => ids.has(id))) {
        t.fail(`${what}: ${JSON.stringify(query)} matches ${count}: ${pages.join()}, not ${[...ids].join()}`)
        return
      }
      if (!isRight) {
        t.fail(`${what}: ${JSON.stringify(query)} found ${JSON.stringify(hits)}, not ${JSON.stringify(best)}`)
        return
      }
    }
    t.pass(`${what}: searches`)
  }

  #query(): TextQuery {
    const word = () => vocabulary[this.#random(vocabulary.length)] as string
    const words = () => Array.from({ length: 1 + this.#random(3) }, word).join(' ')
    switch (this.#random(5)) {
      case 0:
        return { must: [words()] }
      case 1:
        return { should: [words(), words()], mustNot: [word()] }
      case 2:
        return { must: [word()], should: [words()] }
      case 3: {
        const text = [...this.#texts.values()][this.#random(this.#texts.size)] ?? ''
        const [first, second] = wordsOf(text)
        return { must: [{ phrase: `${first ?? word()} ${second ?? word()}` }] }
      }
      default:
        return { should: [words()] }
    }
  }

  /** All texts that match, best first. */
  #expected({ must = [], should = [], mustNot = [] }: TextQuery) {
    const all = [...this.#texts].map(([id, text]) => ({ id, words: wordsOf(text) }))
    const averageLength = all.reduce((sum, { words }) => sum + words.length, 0) / all.length
    const having = (term: string) => all.filter(({ words }) => words.includes(term)).length
    const scoreOf = (words: readonly string[], term: string) => {
      const count = words.filter((one) => one === term).length
      const idf = Math.log(1 + (all.length - having(term) + 0.5) / (having(term) + 0.5))
      return (idf * count * (k1 + 1)) / (count + k1 * (1 - b + (b * words.length) / averageLength))
    }
    const termsOf = (clause: unknown): string[] =>
      typeof clause === 'string' ? clause.split(' ') : (clause as { phrase: string }).phrase.split(' ')
    const matches = (words: readonly string[], clause: unknown) => {
      const terms = termsOf(clause)
      if (typeof clause === 'string') return terms.every((term) => words.includes(term))
      return words.some((_, at) => terms.every((term, i) => words[at + i] === term))
    }
    return all
      .filter(({ words }) => must.every((clause) => matches(words, clause)))
      .filter(({ words }) => !mustNot.some((clause) => termsOf(clause).some((term) => words.includes(term))))
      .map(({ id, words }) => {
        const terms = [...must, ...should].flatMap(termsOf)
        return { id, similarity: terms.reduce((sum, term) => sum + scoreOf(words, term), 0) }
      })
      .filter(({ similarity }) => similarity > 0)
      .sort((x, y) => y.similarity - x.similarity)
  }
}

function wordsOf(text: string): string[] {
  return text.split(/[ ,]+/).filter((word) => word !== '')
}

async function pagesOf(collection: TextReader, request: CountRequest): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await collection.scroll({ ...request, limit: 7, includeVectors: false, cursor })
    ids.push(...page.objects.map(({ id }) => id))
    cursor = page.cursor
  } while (cursor !== undefined)
  return ids
}
