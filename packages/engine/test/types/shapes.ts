// A program that compiles only where the types that both homes export fit each other. From sources they are the same types; the built
// declarations of the client have their own copies.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { root } from './compiler.ts'

/** Type arguments of the types that have none by default. */
const required: Readonly<Record<string, string>> = {
  ExactDefinition: '<typeof definition>',
  FieldName: '<Known>',
  FieldsOf: '<typeof definition>',
  GraphFieldName: '<Known>',
  HitGroup: '<string>',
  UnknownOption: "<'option'>",
}

/** Types that also take the fields of a collection. */
const withFields: Readonly<Record<string, readonly string[]>> = {
  BatchedRequest: ['<Known>'],
  Explanation: ["<'plot'>"],
  FieldQuery: ["<'vector'>", "<'sparse'>", "<'text'>", "<'multi_vector'>"],
  Fusion: ["<'plot'>"],
  RebuildChanges: ['<Known>'],
  RecallRequest: ["<'plot'>"],
  SearchRequest: ['<Known>', "<Known, 'plot'>"],
  Standing: ["<'plot'>"],
}

const preamble = `import type * as engine from '@annal/engine'
import type * as client from '@annal/client'
interface Film { title: string; minutes?: number }
type Known = { readonly plot: 'vector'; readonly words: 'sparse'; readonly frames: 'multi_vector' }
declare const definition: { name: 'films', fields: [{ name: 'plot', type: 'vector', params: { dimension: 3 } }] }
/** True where a value of A is one of B; a type that was not found is any, and fits nothing. */
type Fits<A, B> = 0 extends 1 & A ? false : 0 extends 1 & B ? false : [A] extends [B] ? true : false
const fits = <A, B>(_fits: Fits<A, B>): void => undefined
const mutual = <A, B>(_a: Fits<A, B>, _b: Fits<B, A>): void => undefined
`

/** What is read from the client can be read from the library, which returns more; what is given to the client can be given to the library. */
const oneWay = `
fits<engine.StoredObject, client.StoredObject>(true)
fits<engine.StoredObject<Known, Film>, client.StoredObject<Known, Film>>(true)
fits<engine.ScrollPage<Known, Film>, client.ScrollPage<Known, Film>>(true)
fits<engine.SearchHit, client.SearchHit>(true)
fits<engine.SearchHit<'vector', Film>, client.SearchHit<'vector', Film>>(true)
fits<engine.SearchHit<'sparse', Film>, client.SearchHit<'sparse', Film>>(true)
fits<engine.SearchHit<'multi_vector', Film>, client.SearchHit<'multi_vector', Film>>(true)
type Lists = 'results' | 'complete' | 'explain' | 'lsn'
fits<Pick<engine.SearchResult<Known, 'plot' | 'words', Film>, Lists>, Pick<client.SearchResult<Known, 'plot' | 'words', Film>, Lists>>(true)
fits<Pick<engine.BatchedResult<Known, Film>, Lists>, Pick<client.BatchedResult<Known, Film>, Lists>>(true)
fits<engine.FusedHit<Known, 'plot', Film>, Pick<client.FusedHit<Known, 'plot', Film>, 'hit' | 'score' | 'standings'>>(true)
fits<client.ObjectInput, engine.ObjectInput>(true)
fits<client.ObjectInput<Known, Film>, engine.ObjectInput<Known, Film>>(true)
fits<client.FieldValue, engine.FieldValue>(true)
`

/** Calls that one home alone has, with their earlier names. A call of both has one name and takes the same in both. */
const calls = `
type EngineOnly = 'served' | 'stateDigest' | 'waitFor' | 'asOf' | 'neighbours' | 'replaceFilters'
/** The embedded library has most of these in Database and DatabaseHistory. */
type ClientOnly =
  | ('load' | 'objects' | 'clone' | 'createBackup' | 'shrink')
  | ('branch' | 'branches' | 'promote' | 'history' | 'diff' | 'undo')
mutual<Exclude<keyof engine.Collection, keyof client.Collection>, EngineOnly>(true, true)
mutual<Exclude<keyof client.Collection, keyof engine.Collection>, ClientOnly>(true, true)
type First<Home, Call extends keyof Home> = Home[Call] extends (first: infer Value, ...more: never[]) => unknown ? Value : never
type E = engine.Collection<Known, Film>
type C = client.Collection<Known, Film>
mutual<First<E, 'searchBatch'>, First<C, 'searchBatch'>>(true, true)
mutual<First<E, 'getMany'>, First<C, 'getMany'>>(true, true)
mutual<First<E, 'deleteWhere'>, First<C, 'deleteWhere'>>(true, true)
mutual<First<E, 'count'> | engine.Filter | undefined, First<C, 'count'>>(true, true)
mutual<First<E, 'facets'>, First<C, 'facets'>>(true, true)
mutual<First<E, 'scroll'>, First<C, 'scroll'>>(true, true)
mutual<First<E, 'recall'>, First<C, 'recall'>>(true, true)
mutual<First<E, 'neighbors'>, First<C, 'neighbors'>>(true, true)
fits<First<E, 'rebuild'>, First<C, 'rebuild'>>(true)
fits<First<C, 'upsert'>, First<E, 'upsert'>>(true)
fits<First<C, 'updateFilters'>, First<E, 'updateFilters'>>(true)
`

export function sharedNames(): readonly string[] {
  const source = readFileSync(path.join(root, 'packages/engine/src/model/shared.ts'), 'utf8')
  const blocks = [...source.matchAll(/^export type \{([^}]*)\}/gm)].flatMap(([, names = '']) => names.split(','))
  const doors = ['engine', 'client'].map((name) =>
    readFileSync(path.join(root, `packages/${name}/src/index.ts`), 'utf8'),
  )
  return blocks
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'ObjectInput')
    .filter((name) => doors.every((door) => new RegExp(`\\b${name},?\\s`).test(door)))
}

export function shapesProgram(): string {
  const same = sharedNames().flatMap((name) =>
    [required[name] ?? '', ...(withFields[name] ?? [])].map(
      (given) => `mutual<engine.${name}${given}, client.${name}${given}>(true, true)\n`,
    ),
  )
  return `${preamble}${same.join('')}${oneWay}${calls}`
}
