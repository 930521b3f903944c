// Compares a server with the knowledge of its clients: nothing acknowledged is missing, nothing exists that was not requested, an
// interrupted operation is applied completely or not at all, and no object is composed of two versions.
import { type Client, idsOf, type Objects, ownName, type State, vectorOf } from './kill-loop-client.ts'
import { send } from './running-app.ts'

export interface WireObject {
  readonly id: string
  readonly meta: { readonly id: string; readonly version: number }
  readonly filter: { readonly id: string; readonly tag: string; readonly version: number }
  readonly fields: { readonly v?: { readonly vector: readonly number[] } }
}

/** Returns the differences, and uses the found state as the expected one from now on. */
export async function settle(url: string, clients: readonly Client[]): Promise<string[]> {
  const faults: string[] = []
  const health = (await send(url, 'GET', '/api/v2/health')).json()
  if (health.status !== 'ok') faults.push(`health is ${JSON.stringify(health)}`)
  let docs = 0
  const names: string[] = ['docs']
  for (const client of clients) {
    const found = await stateOf(url, client, faults)
    const allowed = [client.acknowledged, ...(client.pending === undefined ? [] : [client.pending])]
    if (!allowed.some((state) => same(state.docs, found.docs) && same(state.own, found.own)))
      faults.push(`${client.name}: ${allowed.map((state) => difference(found, state)).join('; or, as under way, ')}`)
    client.acknowledged = found
    client.pending = undefined
    docs += found.docs.size
    if (found.own !== undefined) names.push(ownName(client))
  }
  const list = (await send(url, 'GET', '/api/v2/collection')).json() as {
    collections: { name: string; total_elements: number; condition: string }[]
  }
  for (const { name, total_elements: total, condition } of list.collections) {
    const expected = name === 'docs' ? docs : clients.find((client) => ownName(client) === name)?.acknowledged.own?.size
    if (total !== expected) faults.push(`${name} holds ${total} objects where ${expected} are known`)
    if (condition !== 'ready') faults.push(`${name} is ${condition}`)
  }
  if (list.collections.length !== names.length)
    faults.push(`there are ${list.collections.map(({ name }) => name)} where ${names} are known`)
  return faults
}

/** Describes what is wrong with an object from the wire, or returns undefined. */
export function mixture({ id, meta, filter, fields }: WireObject): string | undefined {
  const [version, number] = vectorOf(meta.version, id)
  const vector = fields.v?.vector ?? []
  const whole = vector[0] === version && vector[1] === number && meta.id === id && filter.id === id
  // Filters are replaced separately, so their version may be newer, never older.
  if (whole && filter.version >= meta.version) return undefined
  return `${id} is mixed: ${JSON.stringify({ meta, filter, vector })}`
}

async function stateOf(url: string, client: Client, faults: string[]): Promise<State> {
  const docs = await objectsOf(url, 'docs', client, faults)
  if (docs === undefined) faults.push('docs is gone')
  return { docs: docs ?? new Map(), own: await objectsOf(url, ownName(client), client, faults) }
}

async function objectsOf(url: string, name: string, client: Client, faults: string[]): Promise<Objects | undefined> {
  const json = { ids: idsOf(client) }
  const answer = await send(url, 'POST', `/api/v2/collection/${name}/objects/query`, {
    json,
    accept: 'application/json',
  })
  if (answer.status === 404) return undefined
  if (answer.status !== 200) faults.push(`reading ${name} was answered ${answer.status} ${answer.text}`)
  const { objects } = answer.json() as { objects: WireObject[] }
  faults.push(...objects.flatMap((object) => mixture(object) ?? []))
  return new Map(
    objects.map(({ id, meta, filter }) => [
      id,
      { version: meta.version, filterVersion: filter.version, tag: filter.tag.slice(client.name.length + 1) },
    ]),
  )
}

function same(a: Objects | undefined, b: Objects | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return (
    a.size === b.size &&
    [...a].every(([id, held]) => {
      const other = b.get(id)
      return other?.version === held.version && other.filterVersion === held.filterVersion && other.tag === held.tag
    })
  )
}

function difference(found: State, expected: State): string {
  return (['docs', 'own'] as const)
    .map((where) => {
      const [a, b] = [found[where], expected[where]]
      if (a === undefined || b === undefined) return `${where} ${a ? 'is' : 'is not'} there`
      const lost = [...b].filter(([id, held]) => a.get(id)?.version !== held.version).length
      const phantom = [...a].filter(([id, held]) => b.get(id)?.version !== held.version).length
      const filters = [...a].filter(([id, held]) => b.get(id)?.filterVersion !== held.filterVersion).length
      return `${where} has ${lost} lost, ${phantom} phantom, ${filters} filters that differ`
    })
    .join(', ')
}
