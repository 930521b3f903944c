// A short life of an engine in steps, with the content of its collections after every step. A crash may leave the content before or after
// the running step.
import { createHash } from 'node:crypto'
import type { Engine } from '@annal/engine'

/**
 * Collections by name, objects by id, with the number in the vector, meta, and filter of each. Other databases than `default` by name, with
 * their content: collections with their number of objects, tokens with 1.
 */
export type Contents = ReadonlyMap<string, ReadonlyMap<string, number>>

export interface Step {
  readonly label: string
  readonly after: Contents
  run(engine: Engine): Promise<unknown>
}

const graph = { space_type: 'l2', precision: 'float32', M: 4, ef_con: 8 } as const
const fields = [
  { name: 'v', type: 'vector', params: { dimension: 4, ...graph } },
  { name: 'm', type: 'multi_vector', params: { dimension: 2, ...graph } },
] as const

/** Steps for a life that begins with the content `before`. Its numbers start at `numberFrom`. */
export function randomSteps(before: Contents, numberFrom: number): Step[] {
  const steps: Step[] = []
  let contents = before
  let number = numberFrom
  const step = (label: string, after: Contents, run: Step['run']): void => {
    contents = after
    steps.push({ label, after, run })
  }
  const withCollection = (name: string, objects: ReadonlyMap<string, number> | undefined): Contents => {
    const next = new Map(contents)
    if (objects === undefined) next.delete(name)
    else next.set(name, objects)
    return next
  }
  const create = (name: string): void =>
    step(`create ${name}`, withCollection(name, new Map()), (engine) =>
      engine.database().createCollection({ name, fields }),
    )
  const drop = (name: string): void =>
    step(`drop ${name}`, withCollection(name, undefined), (engine) => engine.database().deleteCollection(name))
  const upsert = (name: string, from: number, count: number): void => {
    const objects = Array.from({ length: count }, (_, i) => objectOf(`${from + i}`, number++))
    const after = new Map(contents.get(name))
    for (const { id, meta } of objects) after.set(id, meta.number)
    step(`upsert ${count} into ${name}`, withCollection(name, after), (engine) =>
      engine.database().collection(name).upsert(objects),
    )
  }
  const removeAbove = (name: string, bound: number): void => {
    const after = new Map([...(contents.get(name) ?? [])].filter(([, held]) => held < bound))
    step(`delete above ${bound} in ${name}`, withCollection(name, after), (engine) =>
      engine
        .database()
        .collection(name)
        .deleteWhere([{ number: { $gte: bound } }]),
    )
  }
  const clone = (from: string, name: string): void =>
    step(`clone ${from} as ${name}`, withCollection(name, contents.get(from)), async (engine) => {
      await engine.database().backups.clone(from, name)
      await engine.database().collection(name).served()
    })
  const checkpoint = (): void => step('checkpoint', contents, (engine) => engine.checkpoint())
  const holding = (database: string, ...held: readonly (readonly [string, number])[]): Contents =>
    withCollection(database, new Map([...(contents.get(database) ?? []), ...held]))
  const makeDatabase = (name: string): void => {
    step(`create database ${name}`, holding(name, ['token main', 1]), ({ control }) =>
      control.createDatabase({ name, token: tokenOf(name, 'main') }),
    )
    step(`create a collection in ${name}`, holding(name, ['inner', 0]), (engine) =>
      engine.database(name).createCollection({ name: 'inner', fields }),
    )
    step(`upsert into ${name}`, holding(name, ['inner', 2]), (engine) =>
      engine
        .database(name)
        .collection('inner')
        .upsert([objectOf('0', 0), objectOf('1', 1)]),
    )
    step(`put a token of ${name}`, holding(name, ['token more', 1]), ({ control }) =>
      control.putToken(name, tokenOf(name, 'more')),
    )
  }
  const deleteDatabase = (name: string): void =>
    step(`drop database ${name}`, withCollection(name, undefined), ({ control }) => control.deleteDatabase(name))

  for (const name of ['kept', 'dropped']) if (!contents.has(name)) create(name)
  upsert('kept', 0, 6)
  upsert('dropped', 0, 3)
  checkpoint()
  upsert('kept', 3, 7)
  drop('dropped')
  if (contents.has('copied')) drop('copied')
  clone('kept', 'copied')
  removeAbove('kept', number - 2)
  if (contents.has('acme')) deleteDatabase('acme')
  makeDatabase('acme')
  checkpoint()
  create('dropped')
  upsert('dropped', 1, 2)
  upsert('kept', 0, 2)
  drop('copied')
  checkpoint()
  removeAbove('dropped', number - 2)
  deleteDatabase('acme')
  return steps
}

function tokenOf(database: string, name: string) {
  return { name, kind: 'rw' as const, hash: createHash('sha256').update(`${database}:${name}`).digest('hex') }
}

function objectOf(id: string, number: number) {
  return { id, meta: { number }, filter: { number }, fields: { v: [number, Number(id), 1, 0], m: membersOf(number) } }
}

function membersOf(number: number): number[][] {
  return Array.from({ length: 1 + (number % 3) }, (_, i) => [number, i])
}

/** The content of the engine through its API. Throws if an object is composed of two versions. */
export async function readContents(engine: Engine): Promise<Contents> {
  const contents = new Map<string, ReadonlyMap<string, number>>()
  for (const { name, objects: count, condition } of engine.database().collections()) {
    if (condition !== 'ready') throw new Error(`${name} is ${condition}`)
    const collection = engine.database().collection(name)
    const found = await collection.getMany(Array.from({ length: 20 }, (_, i) => `${i}`))
    const { results } = await collection.search({ fields: { v: { query: [0, 0, 0, 0], limit: 20 } } })
    const searched = (results.v ?? []).map(({ id }) => id).sort()
    if (String(searched) !== String(found.map(({ id }) => id).sort()) || found.length !== count)
      throw new Error(`${name} counts ${count}, gives ${found.map(({ id }) => id)} and finds ${searched}`)
    const objects = new Map<string, number>()
    for (const { id, meta, filter, dense, multi } of found) {
      const number = Number(meta?.number)
      const members = multi.m?.map(({ vector }) => [...vector])
      if (String(members) !== String(membersOf(number))) throw new Error(`object ${id} of ${name} has ${members}`)
      if (filter.number !== number || dense.v?.vector[0] !== number) throw new Error(`object ${id} of ${name} is mixed`)
      objects.set(id, number)
    }
    contents.set(name, objects)
  }
  for (const { name } of engine.control.databases()) {
    if (name === 'default') continue
    const collections = engine.database(name).collections()
    const tokens = engine.control.tokens(name)
    for (const token of tokens) {
      const owner = engine.control.findToken(tokenOf(name, token.name).hash)
      if (owner?.database.name !== name) throw new Error(`token ${token.name} of ${name} opens nothing`)
    }
    contents.set(
      name,
      new Map([
        ...collections.map((one) => [one.name, one.objects] as const),
        ...tokens.map((one) => [`token ${one.name}`, 1] as const),
      ]),
    )
  }
  return contents
}

export function same(a: Contents, b: Contents): boolean {
  return textOf(a) === textOf(b)
}

export function textOf(contents: Contents): string {
  const parts = [...contents].map(([name, objects]) => `${name}: ${[...objects].sort().map(([id, n]) => `${id}=${n}`)}`)
  return parts.sort().join('; ')
}
