// Searches of a field with the best candidates ordered by original vectors in files, as the engine rescores.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Precision } from '@annal/engine'
import { candidatesFor, OriginalComparer, Originals, rankCandidates } from '@annal/engine/testing'
import { nodeVfs } from '@annal/wal'
import type { Field } from '../sets/fill.ts'
import type { Metric } from './similarity.ts'

const batch = 4096

export interface Rescorer {
  /** Ordinals of the best k. */
  search(query: Float32Array, options: { readonly k: number; readonly ef: number }): Promise<Uint32Array>
  /** Mean number of originals that a search has read since the last call. */
  takeReads(): number
  close(): Promise<void>
}

/** Writes the rows of a field to files of original vectors. */
export async function openRescorer(
  field: Field,
  rows: Float32Array,
  params: { readonly dimension: number; readonly spaceType: Metric; readonly precision: Precision },
): Promise<Rescorer> {
  const { dimension, spaceType, precision } = params
  const dir = await mkdtemp(join(tmpdir(), 'annal-rescorer-'))
  const place = { vfs: nodeVfs(), dir, directory: () => '00000000-0000-4000-8000-000000000001' }
  const scales = spaceType === 'cosine'
  const originals = new Originals(place, {
    collectionId: 1,
    generation: 0,
    field: 0,
    dimension,
    several: false,
    scales,
  })
  const n = rows.length / dimension
  for (let from = 0; from < n; from += batch) {
    const to = Math.min(n, from + batch)
    await originals.prepare(to - from)
    const ordinals = Uint32Array.from({ length: to - from }, (_, i) => from + i)
    await originals.append(ordinals, rows.subarray(from * dimension, to * dimension))
  }
  const comparer = new OriginalComparer(field.kernel)
  let [reads, searches] = [0, 0]
  return {
    async search(query, { k, ef }) {
      const wanted = candidatesFor(k, ef, precision)
      const found = field.searchSync(query, { k: wanted, ef: Math.max(ef, wanted), version: 1e6 })
      const best = await rankCandidates(
        found,
        originals,
        { k, definition: { params: { dimension, spaceType } } },
        query,
        comparer,
      )
      reads += best.compared
      searches++
      return best.ordinals
    },
    takeReads() {
      const mean = reads / Math.max(1, searches)
      reads = 0
      searches = 0
      return mean
    },
    async close() {
      await originals.remove()
      await rm(dir, { recursive: true })
    },
  }
}
