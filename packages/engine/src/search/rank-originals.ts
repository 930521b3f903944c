// Ranks objects by their vectors on disk: the original vector of a dense field, or all members of a multi-vector field. Both are
// compared with the query by maxSim, which for one vector and one query is their similarity.
import { TimeSlice, yieldToOthers } from '@annal/wal'
import { assert } from '../errors.ts'
import type { DenseSchemaParams } from '../model/schema.ts'
import type { ReadableOriginals } from '../replica/readable.ts'
import { type Caller, refuseWhenLeft } from '../vector/caller.ts'
import { maxSim } from './max-sim.ts'
import { type Best, Ranking } from './ranking.ts'
import { ReadingTurns } from './reading-turns.ts'

/** Reads vectors of objects from disk. */
export interface VectorSource {
  /** Objects read and compared at a time. Limits memory, and the time that other readers wait. */
  readonly atOnce: number
  /** For each object its vectors, one after another. */
  read(ordinals: readonly number[]): Promise<readonly Float32Array[]>
}

/** Bytes of vectors read at a time. */
const readBytesMax = 2 ** 20
/** Objects of a multi-vector field read at a time. */
const membersAtOnce = 16
/** Comparisons that read at one time: enough that one compares while another one reads. */
const turns = new ReadingTurns(4)

/** The original vectors of a dense field. */
export function vectorsOf(originals: ReadableOriginals, dimension: number): VectorSource {
  return {
    atOnce: Math.max(16, Math.floor(readBytesMax / 4 / dimension)),
    read: async (ordinals) =>
      (await originals.readGiven(ordinals)).map((row, i) => {
        assert(row, `ordinal ${ordinals[i]} has an original`)
        return row.vector
      }),
  }
}

/** The members of the objects of a multi-vector field. */
export function membersOf(originals: ReadableOriginals): VectorSource {
  return {
    atOnce: membersAtOnce,
    read: (ordinals) => Promise.all(ordinals.map((ordinal) => originals.read(ordinal))),
  }
}

export interface RankOptions {
  readonly k: number
  readonly scoreThreshold?: number | undefined
  readonly definition: { readonly params: Pick<DenseSchemaParams, 'dimension' | 'spaceType'> }
  readonly caller?: Caller | undefined
}

/** The best k of the ordinals; ties are ordered by ordinal. Throws `closed` if the caller has left. */
export async function rankOriginals(
  ordinals: Uint32Array,
  source: VectorSource,
  { k, scoreThreshold, definition, caller }: RankOptions,
  query: Float32Array,
): Promise<Best> {
  const ranking = new Ranking(k, scoreThreshold)
  const { dimension, spaceType } = definition.params
  for await (const rows of readRows(ordinals, source, caller)) {
    for (const { ordinal, vectors } of rows) ranking.offer(ordinal, maxSim(query, vectors, dimension, spaceType))
  }
  return ranking.best()
}

/** The best k of the ordinals for each query. Reads each vector once. */
export async function rankOriginalsOfEach(
  ordinals: Uint32Array,
  source: VectorSource,
  { k, definition }: RankOptions,
  queries: readonly Float32Array[],
): Promise<Best[]> {
  const rankings = queries.map((query) => ({ query, ranking: new Ranking(k) }))
  const { dimension, spaceType } = definition.params
  const slice = new TimeSlice()
  for await (const rows of readRows(ordinals, source)) {
    for (const { query, ranking } of rankings) {
      for (const { ordinal, vectors } of rows) ranking.offer(ordinal, maxSim(query, vectors, dimension, spaceType))
      await slice.renewIfOver()
    }
  }
  return rankings.map(({ ranking }) => ranking.best())
}

interface OriginalRow {
  readonly ordinal: number
  readonly vectors: Float32Array
}

async function* readRows(
  ordinals: Uint32Array,
  { atOnce, read }: VectorSource,
  caller?: Caller,
): AsyncGenerator<readonly OriginalRow[], void, void> {
  const readFrom = async (from: number): Promise<OriginalRow[]> => {
    const some = [...ordinals.subarray(from, from + atOnce)]
    const rows = await read(some)
    return rows.map((vectors, i) => ({ ordinal: some[i] as number, vectors }))
  }
  // The next vectors are read while these are compared.
  await turns.take(caller)
  try {
    let nextRows = readFrom(0)
    for (let from = 0; from < ordinals.length; from += atOnce) {
      if (from > 0) await yieldToOthers()
      const rows = await nextRows
      turns.refuseThoseWhoLeft()
      refuseWhenLeft(caller)
      nextRows = readFrom(from + atOnce)
      // Prevents an unhandled rejection if this iteration throws.
      nextRows.catch(() => undefined)
      yield rows
    }
  } finally {
    turns.give()
  }
}
