// The two packages that have collections: the library, with collections in this process, and the client of a server.

export interface Home {
  readonly name: 'engine' | 'client'
  readonly module: string
  /** The beginning of every program. */
  readonly preamble: string
}

const common = `declare const names: readonly string[]
declare const parsed: CollectionDefinition
interface Film { title: string; minutes?: number }
const definition = defineCollection({
  name: 'films',
  fields: [
    { name: 'plot', type: 'vector', params: { dimension: 3, spaceType: 'cosine' } },
    { name: 'words', type: 'sparse', params: { model: 'endee_bm25' } },
    { name: 'frames', type: 'multi_vector', params: { dimension: 2, pooling: 'max' } },
  ],
})
const films = database.collection(definition)
const typed = films.withMetadata<Film>()
const byName = database.collection('films')
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_equal: Same<A, B>): void => undefined
`

export const homes: readonly Home[] = [
  {
    name: 'engine',
    module: '@annal/engine',
    preamble: `import { type Collection, type CollectionDefinition, defineCollection, type Engine, type Fields, type Filter } from '@annal/engine'
declare const engine: Engine
const database = engine.database()
${common}`,
  },
  {
    name: 'client',
    module: '@annal/client',
    preamble: `import { type Client, type Collection, type CollectionDefinition, defineCollection, type Fields, type Filter } from '@annal/client'
declare const database: Client
${common}`,
  },
]
