// An engine in a temporary directory for the tests of searches.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Collection,
  type DenseParams,
  type Engine,
  type FieldDefinition,
  openEngine,
  type SparseParams,
} from '@annal/engine'
import type { Test } from 'tap'
import type { Precision } from '../../src/model/schema.ts'

export async function openDirectory(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-search-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return join(dir, 'data')
}

export async function openIn(t: Test, dataDir: string): Promise<Engine> {
  const engine = await openEngine({ dataDir, threads: 2, fsync: 'none' })
  t.teardown(() => engine.close())
  return engine
}

export async function openCollection(t: Test, fields: readonly FieldDefinition[]): Promise<Collection> {
  const engine = await openIn(t, await openDirectory(t))
  return engine.database().createCollection({ name: 'things', fields })
}

/** A collection with a field for each precision. Every object has the same row in all of them, and its index as id. */
export async function openPrecisions(
  t: Test,
  precisions: readonly Precision[],
  rows: readonly Float32Array[],
  filterOf?: (index: number) => { readonly [key: string]: number },
): Promise<Collection> {
  const params = { dimension: rows[0]?.length ?? 0, spaceType: 'l2' } as const
  const collection = await openCollection(
    t,
    precisions.map((precision) => ({ name: precision, type: 'vector', params: { ...params, precision } })),
  )
  for (let from = 0; from < rows.length; from += 400)
    await collection.upsert(
      rows.slice(from, from + 400).map((row, i) => ({
        id: `${from + i}`,
        ...(filterOf && { filter: filterOf(from + i) }),
        fields: Object.fromEntries(precisions.map((precision) => [precision, row])),
      })),
    )
  return collection
}

export const denseField = (dimension: number, params: Partial<DenseParams> = {}): FieldDefinition => ({
  name: 'dense',
  type: 'vector',
  params: { dimension, spaceType: 'l2', precision: 'float32', ...params },
})
export const sparseField = (params: SparseParams = {}): FieldDefinition => ({ name: 'words', type: 'sparse', params })
