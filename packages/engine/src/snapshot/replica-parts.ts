// A replica as the parts that its snapshot files hold, and back.
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import { graphField } from '../definition.ts'
import { EngineError } from '../errors.ts'
import { FilterIndex } from '../filter/filter-index.ts'
import { type Section, SectionReader, sectionOf, sourceOf, writeSections } from '../memory/sections.ts'
import { ObjectStore } from '../replica/object-store.ts'
import { Ordinals } from '../replica/ordinals.ts'
import { Originals, type OriginalsFile, type OriginalsPlace, originalsOf } from '../replica/originals.ts'
import { Replica } from '../replica/replica.ts'
import { loadDenseField } from '../vector/dense-field.ts'
import type { FieldCut } from '../vector/field.ts'
import { loadSparseField } from '../vector/sparse-field.ts'
import type { WorkerPool } from '../vector/worker-pool.ts'

/** The part that holds everything but the fields; field i is part 1 + i. */
export const objectsPart = 0

/** A replica as of one moment, to be written out at leisure, whatever is applied meanwhile. Must be released. */
export interface ReplicaCut {
  readonly lsn: number
  readonly objects: Iterable<Uint8Array>
  readonly fields: readonly { readonly part: number; readonly pieces: Iterable<Uint8Array> }[]
  /** Files with vectors as they came, and how much of each there is at that moment. */
  readonly originals: readonly OriginalsFile[]
  release(): void
}

/** Nothing may be applied until the promise resolves. */
export async function cutReplica(replica: Replica): Promise<ReplicaCut> {
  const cuts: { readonly part: number; readonly cut: FieldCut }[] = []
  for (const [at, field] of replica.dense.entries()) if (field) cuts.push({ part: 1 + at, cut: await field.cut() })
  // Kept open until released, whatever is rebuilt or dropped; no version is so high, so no writer waits for it.
  const unpin = replica.pins.pin(Number.MAX_SAFE_INTEGER)
  return {
    lsn: replica.lsnApplied,
    objects: cutObjects(replica),
    fields: cuts.map(({ part, cut }) => ({ part, pieces: cut.pieces })),
    originals: replica.originals.flatMap((of) => of?.files() ?? []),
    release: () => {
      for (const { cut } of cuts) cut.release()
      unpin()
    },
  }
}

function cutObjects(replica: Replica): Iterable<Uint8Array> {
  const { end, free, resting } = replica.ordinals.state()
  const numbers = Float64Array.of(
    replica.version,
    replica.lsnApplied,
    end,
    free.length,
    resting.length,
    replica.generation,
    ...free,
    ...resting,
  )
  const head: Section = sectionOf('replica', new Uint8Array(numbers.buffer))
  return writeSections([head, ...replica.dumpObjects()])
}

/** Throws snapshot_damaged when a part does not hold what it must. Parts are read to their ends or given up, never left open. */
export async function loadReplica(
  entry: CollectionEntry,
  lsn: number,
  partOf: (part: number) => AsyncGenerator<Uint8Array, void>,
  from: {
    readonly pool: WorkerPool
    readonly originals: OriginalsPlace
    /** Where the replica stands when its records have other numbers here than where the snapshot was made. */
    readonly lsnApplied?: number
  },
): Promise<Replica> {
  const parts: AsyncGenerator<Uint8Array, void>[] = []
  const read = (part: number) => {
    const pieces = partOf(part)
    parts.push(pieces)
    return pieces
  }
  const originals: (Originals | undefined)[] = []
  try {
    const { fields } = entry.definition
    const source = sourceOf(read(objectsPart))
    const reader = new SectionReader(source, `collection ${entry.id}`)
    const { version, ordinals, generation } = await readHead(reader, lsn)
    const objects = await ObjectStore.load(reader, 'objects', ordinals.end)
    const filters = await FilterIndex.load(reader, 'filters')
    await loadOriginals(reader, entry, { ordinalEnd: ordinals.end, generation }, from.originals, originals)
    await source.end()
    const dense = await Promise.all(
      fields.map((field, at) => {
        const graph = graphField(field)
        return graph && loadDenseField(graph, from.pool, read(1 + at))
      }),
    )
    const sparse = await Promise.all(
      fields.map((field, at) =>
        field.kind === 'sparse' ? loadSparseField(field, from.pool, read(1 + at)) : undefined,
      ),
    )
    const { id, definition } = entry
    const state = { id, definition, objects, filters, dense, sparse, originals, ordinals, generation }
    return new Replica({ ...state, version, lsnApplied: from.lsnApplied ?? lsn })
  } catch (error) {
    for (const one of originals) await one?.close()
    throw error
  } finally {
    for (const part of parts) await part.return()
  }
}

/** Adds one to `loaded` for each field, so that the caller can close them whatever fails. */
async function loadOriginals(
  reader: SectionReader,
  { id: collectionId, definition }: CollectionEntry,
  { ordinalEnd, generation }: { readonly ordinalEnd: number; readonly generation: number },
  place: OriginalsPlace,
  loaded: (Originals | undefined)[],
): Promise<void> {
  for (const at of definition.fields.keys()) {
    const of = originalsOf(collectionId, definition, at, generation)
    if (of === undefined) {
      loaded.push(undefined)
      continue
    }
    const state = await Originals.loadState(reader, `originals.${at}`, { ordinalEnd, several: of.several })
    const originals = new Originals(place, of, state)
    loaded.push(originals)
    await originals.open()
  }
}

async function readHead(
  reader: SectionReader,
  lsn: number,
): Promise<{ version: number; ordinals: Ordinals; generation: number }> {
  const body = await reader.open('replica')
  const [version = 0, lsnThere = 0, end = 0, free = 0, resting = 0, generation = 0] = await body.takeNumbers(6)
  if (lsnThere !== lsn || body.remaining !== (free + resting) * 8) {
    throw new EngineError(
      'snapshot_damaged',
      `${body.part} is of LSN ${lsnThere} with ${body.remaining} bytes of ordinals, which does not fit`,
      { part: body.part },
    )
  }
  const ordinals = new Ordinals({ end, free: await body.takeNumbers(free), resting: await body.takeNumbers(resting) })
  await body.end()
  return { version, ordinals, generation }
}
