// The clients of a flood that search, and compare each reply with the states that existed during the search.
import { choicesFrom } from '../differential/choices.ts'
import { type CollectionState, type Flood, objects } from './flood.ts'
import { type Hit, mixedPart, type ObjectState, sparseOf, termsOf, tornPart, tornTerms, vectorOf } from './objects.ts'
import { expect, newAgent, type Reply, type Send, sender } from './sender.ts'

/** The system spreads connections over threads when they open. */
const requestsPerConnection = 40

export async function search(flood: Flood, url: string, token: string, own: number): Promise<void> {
  const choices = choicesFrom(own)
  let agent = newAgent()
  const searches = [
    searchObject,
    searchObject,
    searchTerms,
    searchBoth,
    searchFilter,
    searchGrown,
    searchPassing,
    searchCopy,
    searchWithToken,
    searchStable,
  ]
  for (let sent = 1; !flood.isOver; sent++) {
    if (sent % requestsPerConnection === 0) {
      agent.destroy()
      agent = newAgent()
    }
    await choices.one(searches)(flood, sender(url, agent, token), choices.below(objects))
  }
  agent.destroy()
}

/** Every hit is one state of its object that existed during the search. */
async function searchObject(flood: Flood, send: Send, object: number): Promise<void> {
  const query = vectorOf(object, flood.objects[object]!.latest.version)
  const observed = flood.objects.map((history) => history.observe())
  const hits = hitsOf(await expect(send('POST', '/collection/changing/search', searchBody(query, 3))))
  const possible = observed.map((end) => end())
  checkHits(flood, hits, possible, (hit) => tornPart(hit, query))
  if (!hits.some(({ id }) => id === `o${object}`) && possible[object]!.every(({ isStored }) => isStored))
    flood.fault(`o${object} is stored and was not found among ${hits.map(({ id }) => id)}`)
  flood.count('an object')
}

/** Every hit matches the filter, as one state that existed during the search. */
async function searchFilter(flood: Flood, send: Send, object: number): Promise<void> {
  const query = vectorOf(object, 1)
  const observed = flood.objects.map((history) => history.observe())
  const parity = object % 2
  const body = { ...searchBody(query, 10), filter: [{ parity: { $eq: parity } }] }
  const hits = hitsOf(await expect(send('POST', '/collection/changing/search', body)))
  const possible = observed.map((end) => end())
  checkHits(flood, hits, possible, (hit) => tornPart(hit, query))
  for (const { id, filter } of hits)
    if (filter.parity !== parity) flood.fault(`${id} has parity ${filter.parity} and was found with ${parity}`)
  flood.count('a filter')
}

/** An object has more weight at its index than all others together, in every version. */
async function searchTerms(flood: Flood, send: Send, object: number): Promise<void> {
  const terms = termsOf(object, flood.objects[object]!.latest.version)
  const observed = flood.objects.map((history) => history.observe())
  const body = { fields: { s: { query: sparseOf(terms), limit: 5 } } }
  const { results } = resultOf(await expect(send('POST', '/collection/changing/search', body)))
  const possible = observed.map((end) => end())
  checkHits(flood, results.s, possible, (hit) => tornTerms(hit, terms))
  if (results.s[0]?.id !== `o${object}` && possible[object]!.every(({ isStored }) => isStored))
    flood.fault(`o${object} is stored and was not the first of ${results.s.map(({ id }) => id)}`)
  flood.count('terms')
}

/** Both lists, and the one that they are combined to, are of one version of the collection. */
async function searchBoth(flood: Flood, send: Send, object: number): Promise<void> {
  const { version } = flood.objects[object]!.latest
  const [query, terms] = [vectorOf(object, version), termsOf(object, version)]
  const observed = flood.objects.map((history) => history.observe())
  const fields = { v: { query, limit: 5, ef: 512 }, s: { query: sparseOf(terms), limit: 5 } }
  const body = { fields, fusion: { method: 'rrf' } }
  const { results, fused = [] } = resultOf(await expect(send('POST', '/collection/changing/search', body)))
  const possible = observed.map((end) => end())
  checkHits(flood, results.v, possible, (hit) => tornPart(hit, query))
  checkHits(flood, results.s, possible, (hit) => tornTerms(hit, terms))
  checkHits(flood, fused, possible, mixedPart)
  const states = new Map([...results.v, ...results.s].map(({ id, filter }) => [id, JSON.stringify(filter)]))
  for (const { id, filter } of [...results.v, ...results.s, ...fused])
    if (states.get(id) !== JSON.stringify(filter)) flood.fault(`${id} is of two versions in one reply`)
  flood.count('both fields')
}

function checkHits(
  flood: Flood,
  hits: readonly Hit[],
  possible: readonly (readonly ObjectState[])[],
  tornIn: (hit: Hit) => string | undefined,
): void {
  if (new Set(hits.map(({ id }) => id)).size !== hits.length) flood.fault('an object was found twice')
  for (const hit of hits) {
    const torn = tornIn(hit)
    if (torn !== undefined) flood.fault(torn)
    const { version, change } = hit.filter
    const states = possible[hit.meta.object]!
    if (!states.some((state) => state.isStored && state.version === version && state.change === change))
      flood.fault(`${hit.id} is of version ${version}, change ${change}; possible were ${JSON.stringify(states)}`)
  }
}

/** What was acknowledged last is found by the next search on any thread, and nothing of a collection that was deleted. */
async function searchGrown(flood: Flood, send: Send, number: number): Promise<void> {
  const { generation, grown, isComplete } = flood.growing
  if (grown === 0 || !isComplete) return
  const object = grown - 1 - (number % Math.min(grown, 60))
  const query = vectorOf(object, generation)
  const reply = await send('POST', '/collection/growing/search', searchBody(query, 1))
  flood.count('the grown end')
  const isSame = flood.growing.generation === generation
  if (reply.status === 404 && !isSame) return
  const hits = hitsOf(await expect(Promise.resolve(reply)))
  if (isSame && hits[0]?.id !== `o${object}`) flood.fault(`the new object o${object} was not found, but ${hits[0]?.id}`)
  for (const hit of hits) {
    const torn = tornPart(hit, query)
    if (torn !== undefined) flood.fault(torn)
    if (hit.meta.version < generation)
      flood.fault(`${hit.id} of generation ${hit.meta.version} after ${generation} began`)
  }
}

async function searchPassing(flood: Flood, send: Send, object: number): Promise<void> {
  const end = flood.passing.observe()
  const query = vectorOf(object % 20, 1)
  const reply = await send('POST', '/collection/passing/search', searchBody(query, 3))
  const possible = end()
  flood.count('a passing collection')
  if (reply.status === 404) {
    if (!possible.includes('absent')) flood.fault(`the collection was not found; possible were ${possible}`)
    return
  }
  const hits = hitsOf(await expect(Promise.resolve(reply)))
  const state: CollectionState = hits[0]?.meta.version ?? 'empty'
  if (!possible.includes(state) || (hits.length > 0 && hits.length < 3))
    flood.fault(`${hits.length} hits of generation ${state}; possible were ${possible}`)
  for (const hit of hits) {
    const torn = tornPart(hit, query)
    if (torn !== undefined) flood.fault(torn)
    if (hit.meta.version !== state) flood.fault(`hits of the generations ${state} and ${hit.meta.version}`)
  }
}

/** A copy replies as the stable collection does. */
async function searchCopy(flood: Flood, send: Send): Promise<void> {
  const end = flood.copied.observe()
  const reply = await send('POST', '/collection/copy/search', searchBody(vectorOf(5, 1), 10))
  const possible = end()
  flood.count('a copy')
  if (reply.status === 404) {
    if (!possible.includes('absent')) flood.fault('the copy was not found')
    return
  }
  const hits = hitsOf(await expect(Promise.resolve(reply)))
  if (!possible.includes('copy')) flood.fault('a copy that is deleted was found')
  checkStable(flood, hits)
}

async function searchStable(flood: Flood, send: Send): Promise<void> {
  const reply = await expect(send('POST', '/collection/stable/search', searchBody(vectorOf(5, 1), 10)))
  checkStable(flood, hitsOf(reply))
  flood.count('the stable one')
}

function checkStable(flood: Flood, hits: readonly Hit[]): void {
  const text = JSON.stringify(hits)
  flood.stableReply ??= text
  if (text !== flood.stableReply)
    flood.fault(`the stable collection replied\n${text}\nand before\n${flood.stableReply}`)
}

async function searchWithToken(flood: Flood, send: Send, number: number): Promise<void> {
  const chosen = flood.tokens[number % Math.max(1, flood.tokens.length)]
  if (chosen === undefined) return
  const end = chosen.history.observe()
  const reply = await send('POST', '/collection/stable/search', searchBody(vectorOf(5, 1), 10), chosen.text)
  const possible = end()
  flood.count('a token')
  if (reply.status === 200) {
    if (!possible.includes('valid')) flood.fault('a revoked token was accepted')
    checkStable(flood, hitsOf(reply))
  } else if (![401, 429].includes(reply.status) || !possible.includes('revoked'))
    flood.fault(`a token: ${reply.status} ${reply.text}`)
}

export function searchBody(query: readonly number[], limit: number) {
  return { fields: { v: { query, limit, ef: 512 } } }
}

interface Result {
  readonly results: { readonly v: readonly Hit[]; readonly s: readonly Hit[] }
  readonly fused?: readonly Hit[]
}

function resultOf({ text }: Reply): Result {
  return JSON.parse(text) as Result
}

function hitsOf(reply: Reply): readonly Hit[] {
  return resultOf(reply).results.v
}
