// The reads of a life: each compares one reply with the model.
import type { Random } from '@annal/wal/testing'
import {
  asInput,
  type Combine,
  type ModelCollection,
  type ModelFilter,
  type ModelObject,
  matches,
  maxSim,
  similarity,
  sparseScore,
  textScores,
} from '../../../engine/test/model/model.ts'
import { AnnalError, type Client, type Collection, type SearchHit, type StoredObject } from '../../src/index.ts'
import * as choose from './choices.ts'
import type { Model } from './memory.ts'
import { sparseOf } from './writes.ts'

/** Above the number of objects. */
const allLimit = 64

export interface Read {
  readonly label: string
  run(client: Client, model: Model): Promise<void>
}

type Compare = (collection: Collection, expected: ModelCollection) => Promise<void>

export function chosenRead(random: Random, model: Model): Read {
  if (random.chance(0.12)) return random.chance(0.5) ? remember(random) : readMoment(random, model)
  const target = choose.name(random)
  const where = choose.optionalFilter(random)
  const kind = random.below(100)
  if (kind < 5) return { label: 'list', run: compareList }
  if (kind < 20) return inCollection(target, 'get', compareGet(choose.ids(random, 6)))
  if (kind < 27) return inCollection(target, 'count', compareCount(where))
  if (kind < 34) return inCollection(target, 'scroll', compareScroll(where, 1 + random.below(12)))
  if (kind < 60) return inCollection(target, 'search', compareDense(random, where))
  if (kind < 66) return inCollection(target, 'search of terms', compareSparse(random, where))
  if (kind < 72) return inCollection(target, 'search of words', compareWords(random))
  if (kind < 80) return inCollection(target, 'search of members', compareMembers(random, where))
  if (kind < 92) return inCollection(target, 'hybrid search', compareHybrid(random, where))
  return inCollection(target, 'batch', compareBatch(random, where))
}

/** Compares everything that the server has. */
export async function compareAll(client: Client, model: Model): Promise<void> {
  await compareList(client, model)
  for (const [name, expected] of model) await compareScroll(undefined, 7)(client.collection(name), expected)
}

export function check(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`server and model differ: ${what}`)
}

/** A read of one collection. If it does not exist, the server must reply so. */
function inCollection(target: string, label: string, compare: Compare): Read {
  return {
    label: `${label} in ${target}`,
    async run(client, model) {
      const expected = model.resolve(target)
      // Without a collection, nothing is compared with the empty one.
      const compared = compare(client.collection(target), expected ?? nothing)
      if (expected !== undefined) return await compared
      const error: unknown = await compared.then(
        () => undefined,
        (reason) => reason,
      )
      check(error instanceof AnnalError && error.code === 'collection_not_found', `${target} does not exist: ${error}`)
    },
  }
}

const nothing: ModelCollection = { spaceType: 'l2', precision: 'float32', objects: new Map() }

async function compareList(client: Client, model: Model): Promise<void> {
  const found = (await client.listCollections()).map(({ name, count }) => `${name} ${count}`).sort()
  const expected = [...model].map(([name, { objects }]) => `${name} ${objects.size}`).sort()
  check(`${found}` === `${expected}`, `the list ${found}, expected ${expected}`)
  const aliases = (await client.aliases.list()).map(({ name, collection }) => `${name} ${collection}`)
  const leading = [...model.aliases].map(([name, collection]) => `${name} ${collection}`)
  check(`${aliases}` === `${leading}`, `the aliases ${aliases}, expected ${leading}`)
}

function compareGet(ids: readonly string[]): Compare {
  return async (collection, { objects }) => {
    const found = await collection.getMany(ids)
    const expected = ids.filter((id) => objects.has(id))
    check(`${found.map(({ id }) => id)}` === `${expected}`, `got ${found.map(({ id }) => id)}, expected ${expected}`)
    for (const one of found) compareObject(one, objects.get(one.id))
  }
}

function compareCount(where: ModelFilter | undefined): Compare {
  return async (collection, expected) => {
    const found = await collection.count(where && asInput(where))
    const matching = eligible(expected, where).length
    check(found === matching, `a count of ${found}, expected ${matching}`)
  }
}

/** All pages. */
function compareScroll(where: ModelFilter | undefined, limit: number): Compare {
  return async (collection, expected) => {
    const found: StoredObject[] = []
    for await (const one of collection.objects({ limit, ...(where && { filter: asInput(where) }) })) found.push(one)
    const ids = found.map(({ id }) => id).sort()
    const matching = eligible(expected, where)
      .map(([id]) => id)
      .sort()
    check(`${ids}` === `${matching}`, `pages with ${ids}, expected ${matching}`)
    for (const one of found) compareObject(one, expected.objects.get(one.id))
  }
}

/** Keeps a moment, for reads of the past and undos. */
function remember(random: Random): Read {
  const target = choose.name(random)
  return {
    label: `remember ${target}`,
    async run(client, model) {
      const expected = model.get(target)
      if (expected === undefined) return
      const { lsn } = await client.collection(target).describe()
      const { number, objects } = expected
      model.moments.push({ collection: target, number, lsn, objects: new Map(objects) })
    },
  }
}

/** What the collection had then, whatever happened since. */
function readMoment(random: Random, model: Model): Read {
  const moment = choose.chosen(random, model.moments) as Model['moments'][number] | undefined
  return {
    label: `read ${moment?.collection} as of LSN ${moment?.lsn}`,
    async run(client) {
      if (moment === undefined) return
      const { collection, lsn, objects } = moment
      const { objects: found } = await client.collection(collection).scroll({ limit: 100, asOf: { lsn } })
      const [ids, expected] = [found.map(({ id }) => id).sort(), [...objects.keys()].sort()]
      check(`${ids}` === `${expected}`, `as of LSN ${lsn} ${ids}, expected ${expected}`)
      for (const one of found) compareObject(one, objects.get(one.id))
    },
  }
}

function compareObject(
  { id, meta, filter, expiresAt, dense, multi, sparse, text }: StoredObject,
  expected: ModelObject | undefined,
) {
  check(expected !== undefined, `${id} is not stored`)
  const { vector, members, terms } = expected
  const found = {
    meta,
    filter: sorted(filter),
    expiresAt,
    vector: [...(dense.v?.vector ?? [])],
    members: multi.m?.map((member) => [...member.vector]) ?? [],
    terms: { indices: [...(sparse.s?.indices ?? [])], values: [...(sparse.s?.values ?? [])] },
    text: text.t ?? null,
  }
  const wanted = {
    ...{ meta: expected.meta, filter: sorted(expected.filter), expiresAt: expected.expiresAt },
    ...{ vector, members, terms: sparseOf(terms), text: expected.text },
  }
  check(JSON.stringify(found) === JSON.stringify(wanted), `${id}: ${JSON.stringify(found)}, ${JSON.stringify(wanted)}`)
}

/** A patch puts new keys at the end. */
function sorted(values: object): object {
  return Object.fromEntries(Object.entries(values).sort())
}

function eligible({ objects }: ModelCollection, where: ModelFilter | undefined): [string, ModelObject][] {
  return [...objects].filter(([, object]) => where === undefined || matches(where, object))
}

interface Scored {
  /** The score of an object; undefined for one that has no value in the field. */
  readonly score: (object: ModelObject) => number | undefined
  readonly tolerance: number
  readonly limit: number
}

/** As many hits as there can be, each with its own score and meta, and none worse than the objects that it displaces. */
function compareHits(
  hits: readonly SearchHit[],
  expected: ModelCollection,
  where: ModelFilter | undefined,
  { score, tolerance, limit }: Scored,
): void {
  const scores = eligible(expected, where)
    .flatMap(([, object]) => score(object) ?? [])
    .sort((x, y) => y - x)
  const scale = tolerance * Math.max(1, ...scores.map(Math.abs))
  check(hits.length === Math.min(limit, scores.length), `${hits.length} hits of ${scores.length}, limit ${limit}`)
  check(new Set(hits.map(({ id }) => id)).size === hits.length, 'an object was found twice')
  for (const [i, { id, similarity: found, meta, filter, expiresAt }] of hits.entries()) {
    const object = expected.objects.get(id)
    check(object !== undefined && (where === undefined || matches(where, object)), `${id} was found`)
    const wanted = JSON.stringify([object.meta, sorted(object.filter), object.expiresAt])
    const has = JSON.stringify([meta, sorted(filter), expiresAt])
    check(has === wanted, `${id} has ${has}, expected ${wanted}`)
    const exact = score(object) ?? Number.NaN
    check(Math.abs(found - exact) <= scale, `${id} has the similarity ${found}, exactly ${exact}`)
    check(found >= (scores[i] as number) - scale, `hit ${i} has ${found}, the best has ${scores[i]}`)
  }
}

/** Walks visit all of so few objects. Exact searches compare the original vectors. */
function denseOf({ spaceType, precision }: ModelCollection, query: readonly number[], limit: number, exact: boolean) {
  const tolerance = exact || precision === 'float32' ? 1e-4 : 0.1
  return { score: ({ vector }: ModelObject) => similarity(spaceType, query, vector), tolerance, limit }
}

/** Exact for any precision: the pool has every object. */
function membersOf({ spaceType }: ModelCollection, query: readonly (readonly number[])[], limit: number) {
  const score = ({ members }: ModelObject) => (members.length > 0 ? maxSim(spaceType, query, members) : undefined)
  return { score, tolerance: 1e-4, limit }
}

function sparseScored(query: ModelObject['terms'], limit: number) {
  return { score: ({ terms }: ModelObject) => sparseScore(query, terms), tolerance: 0, limit }
}

function filterOf(where: ModelFilter | undefined) {
  return where === undefined ? {} : { filter: asInput(where) }
}

function compareDense(random: Random, where: ModelFilter | undefined): Compare {
  const [query, limit, exact] = [choose.vector(random), 1 + random.below(12), random.chance(0.5)]
  return async (collection, expected) => {
    const request = { fields: { v: { query, limit } }, ...filterOf(where), ...(exact && { exact }) }
    const { results } = await collection.search(request)
    compareHits(results.v, expected, where, denseOf(expected, query, limit, exact))
  }
}

function compareSparse(random: Random, where: ModelFilter | undefined): Compare {
  const [query, limit] = [choose.terms(random, { least: 1 }), 1 + random.below(12)]
  return async (collection, expected) => {
    const { results } = await collection.search({
      fields: { s: { query: sparseOf(query), limit } },
      ...filterOf(where),
    })
    compareHits(results.s, expected, where, sparseScored(query, limit))
  }
}

/** Which texts have the words. Scores depend on objects that have expired and are not deleted yet, which the model does not know. */
function compareWords(random: Random): Compare {
  const wanted = choose.words(random, { least: 1, most: 3 })
  const combine = (['or', 'and', 'phrase'] as const)[random.below(3)] as Combine
  return async (collection, { objects }) => {
    const query = wanted.join(' ')
    const condition = combine === 'phrase' ? { query: { must: [{ phrase: query }] } } : { query, operator: combine }
    const { results } = await collection.search({ fields: { t: { ...condition, limit: 100 } } })
    const texts = [...objects].flatMap(([id, { text }]) => (text === null ? [] : [[id, text] as const]))
    const expected = textScores(new Map(texts), wanted, combine).map(([id]) => id)
    const found = results.t?.map(({ id }) => id) ?? []
    check(`${found.sort()}` === `${expected.sort()}`, `${combine} ${wanted} in ${found}, expected ${expected}`)
  }
}

function compareMembers(random: Random, where: ModelFilter | undefined): Compare {
  const query = choose.list(random, { least: 1, most: 3 }, () => choose.vector(random))
  return async (collection, expected) => {
    const { results } = await collection.search({ fields: { m: { query, limit: 8, ef: 64 } }, ...filterOf(where) })
    compareHits(results.m, expected, where, membersOf(expected, query, 8))
  }
}

/** The combined list follows from the lists of the fields, of which each is compared with the model. */
function compareHybrid(random: Random, where: ModelFilter | undefined): Compare {
  const [query, terms, limit] = [choose.vector(random), choose.terms(random, { least: 1 }), 1 + random.below(12)]
  return async (collection, expected) => {
    const fields = { v: { query, limit }, s: { query: sparseOf(terms), limit } }
    const { results, fused = [] } = await collection.search({
      fields,
      ...filterOf(where),
      fusion: { method: 'rrf', limit: allLimit },
    })
    compareHits(results.v, expected, where, denseOf(expected, query, limit, false))
    compareHits(results.s, expected, where, sparseScored(terms, limit))
    const scores = new Map<string, number>()
    for (const hits of [results.v, results.s])
      for (const [i, { id }] of hits.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (61 + i))
    check(fused.length === scores.size, `${fused.length} hits of ${scores.size} in two lists`)
    const sorted = [...scores.values()].sort((x, y) => y - x)
    for (const [i, { hit, score }] of fused.entries()) {
      check(Math.abs(score - (scores.get(hit.id) ?? Number.NaN)) < 1e-9, `${hit.id} has the score ${score}`)
      check(Math.abs(score - (sorted[i] as number)) < 1e-9, `hit ${i} has the score ${score}, expected ${sorted[i]}`)
      check(JSON.stringify(hit.meta) === JSON.stringify(expected.objects.get(hit.id)?.meta), `the meta of ${hit.id}`)
    }
  }
}

/** Searches of all fields, one with a filter. */
function compareBatch(random: Random, where: ModelFilter | undefined): Compare {
  const [query, terms] = [choose.vector(random), choose.terms(random, { least: 1 })]
  return async (collection, expected) => {
    const [dense, sparse] = await collection.searchBatch([
      { fields: { v: { query, limit: 5 } }, ...filterOf(where) },
      { fields: { s: { query: sparseOf(terms), limit: 5 } } },
    ])
    compareHits(dense?.results.v ?? [], expected, where, denseOf(expected, query, 5, false))
    compareHits(sparse?.results.s ?? [], expected, undefined, sparseScored(terms, 5))
  }
}
