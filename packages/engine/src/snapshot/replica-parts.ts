// A replica as the parts that its snapshot files hold, and back.
import type { SteadyPace } from '@annal/wal'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import { EngineError } from '../errors.ts'
import { FilterIndex } from '../filter/filter-index.ts'
import { numbersPart, type Section, SectionReader, sectionOf, writeSections } from '../memory/sections.ts'
import { type FieldSchema, graphField } from '../model/schema.ts'
import type { ListedOriginals } from '../replica/check-originals.ts'
import { ObjectStore } from '../replica/object-store.ts'
import { Ordinals } from '../replica/ordinals.ts'
import { Originals, type OriginalsFile } from '../replica/originals.ts'
import { type OriginalsPlace, originalsOf } from '../replica/originals-of.ts'
import { Replica } from '../replica/replica.ts'
import type { WriteGate } from '../replica/write-gate.ts'
import { loadDenseField } from '../vector/dense/field.ts'
import type { DenseField, PreparedCut, SparseField } from '../vector/field.ts'
import { loadSparseField } from '../vector/sparse/field.ts'
import type { WorkerPool } from '../vector/threads/worker-pool.ts'
import type { SnapshotSource } from './snapshot-source.ts'

/** The part that holds everything but the fields; field i is part 1 + i. */
export const objectsPart = 0

/** A replica as of one moment, to be written out at leisure, whatever is applied meanwhile. Must be released. */
export interface ReplicaCut {
  readonly replica: Replica
  readonly lsn: number
  /** Every part with its bytes. A piece may lie in memory that writers write to: it is copied in the turn in which it is given. */
  readonly parts: readonly { readonly part: number; readonly pieces: Iterable<Uint8Array> }[]
  /** Files with vectors as they came, and how much of each there is at that moment. */
  readonly originals: readonly OriginalsFile[]
  release(): void
}

/** What a cut is made of: whoever is in it, and when nothing is applied to it. */
export interface Cuttable {
  readonly recovering: Replica | undefined
  readonly gate: WriteGate
}

/**
 * Cuts a replica between two events. Most of what must be copied is copied beforehand while writers go on; they wait for what was
 * written meanwhile to be copied again. Undefined when there is no replica.
 */
export async function cutReplica(collection: Cuttable, pace: SteadyPace): Promise<ReplicaCut | undefined> {
  for (;;) {
    const prepared = await collection.gate.between(() => {
      const replica = collection.recovering
      replica?.checkWhole()
      return (
        replica && { replica, fields: fieldsOf(replica).map(({ part, field }) => ({ part, cut: field.prepareCut() })) }
      )
    })
    if (!prepared) return undefined
    const { replica, fields } = prepared
    try {
      for (const { cut } of fields) await cut.copyAhead((bytes) => pace.spend(bytes))
      const taken = await collection.gate.between(() =>
        // A rebuild may have put another replica in its place.
        collection.recovering === replica ? takeCut(replica, fields) : undefined,
      )
      if (taken) return taken
    } finally {
      for (const { cut } of fields) cut.release()
    }
  }
}

function takeCut(
  replica: Replica,
  fields: readonly { readonly part: number; readonly cut: PreparedCut }[],
): ReplicaCut {
  replica.checkWhole()
  const cuts = fields.map(({ part, cut }) => ({ part, cut: cut.take() }))
  // Kept open until released, whatever is rebuilt or dropped; no version is so high, so no writer waits for it.
  const unpin = replica.pins.pin(Number.MAX_SAFE_INTEGER)
  const sections = sectionsOf(replica)
  return {
    replica,
    lsn: replica.lsnApplied,
    // Objects first: what writers change of them is set aside in larger pieces than what they change of fields.
    parts: [
      { part: objectsPart, pieces: writeSections(sections) },
      ...cuts.map(({ part, cut }) => ({ part, pieces: cut.pieces })),
    ],
    originals: replica.originals.flatMap((of) => of?.files() ?? []),
    release: () => {
      for (const { cut } of cuts) cut.release()
      for (const section of sections) section.release()
      unpin()
    },
  }
}

function fieldsOf({ dense, sparse }: Replica): { readonly part: number; readonly field: DenseField | SparseField }[] {
  return dense.flatMap((field, at) => {
    const one = field ?? sparse[at]
    return one ? { part: 1 + at, field: one } : []
  })
}

function sectionsOf(replica: Replica): Section[] {
  const { end, free, resting } = replica.ordinals.state()
  const { version, lsnApplied, generation } = replica
  const head = [version, lsnApplied, end, free.length, resting.length, generation]
  return [sectionOf('replica', ...[head, free, resting].map(numbersPart)), ...replica.dumpObjects()]
}

/** Throws snapshot_damaged when a part does not hold what it must. Parts are read to their ends or given up, never left open. */
export async function loadReplica(
  entry: CollectionEntry,
  lsn: number,
  partOf: (part: number) => Promise<SnapshotSource>,
  from: {
    readonly pool: WorkerPool
    readonly originals: OriginalsPlace
    /** The files of vectors that are meant. */
    readonly listed: readonly ListedOriginals[]
    /** Where the replica stands when its records have other numbers here than where the snapshot was made. */
    readonly lsnApplied?: number
  },
): Promise<Replica> {
  // Side by side: what takes long is the disk, and memory that is touched for the first time.
  const objects = reading(partOf(objectsPart), (source) => loadObjects(source, entry, lsn, from))
  const fields = entry.definition.fields.map((field, at) =>
    reading(partOf(1 + at), (source) => loadField(field, source, from.pool)),
  )
  const settled = await Promise.allSettled<Closable>([objects, ...fields])
  const failed = settled.find((one) => one.status === 'rejected')
  if (failed) {
    for (const one of settled) if (one.status === 'fulfilled') await one.value.close()
    throw failed.reason
  }
  const loaded = await Promise.all(fields)
  return new Replica({
    id: entry.id,
    definition: entry.definition,
    ...(await objects),
    dense: loaded.map(({ dense }) => dense),
    sparse: loaded.map(({ sparse }) => sparse),
    lsnApplied: from.lsnApplied ?? lsn,
  })
}

interface Closable {
  close(): Promise<void>
}

async function reading<T>(opening: Promise<SnapshotSource>, load: (source: SnapshotSource) => Promise<T>): Promise<T> {
  const source = await opening
  try {
    return await load(source)
  } finally {
    await source.close()
  }
}

async function loadField(field: FieldSchema, source: SnapshotSource, pool: WorkerPool) {
  const graph = graphField(field)
  const dense = graph && (await loadDenseField(graph, pool, source))
  const sparse = field.kind === 'sparse' ? await loadSparseField(field, pool, source) : undefined
  return { dense, sparse, close: async () => (dense ?? sparse)?.close() }
}

async function loadObjects(source: SnapshotSource, entry: CollectionEntry, lsn: number, from: OriginalsFrom) {
  const reader = new SectionReader(source, `collection ${entry.id}`)
  const { version, ordinals, generation } = await readHead(reader, lsn)
  const objects = await ObjectStore.load(reader, 'objects', ordinals.end)
  const filters = await FilterIndex.load(reader, 'filters')
  const originals: (Originals | undefined)[] = []
  const close = async () => {
    for (const one of originals) await one?.close()
  }
  try {
    await loadOriginals(reader, entry, { ordinalEnd: ordinals.end, generation }, from, originals)
    await source.end()
  } catch (error) {
    await close()
    throw error
  }
  return { objects, filters, originals, ordinals, generation, version, close }
}

/** Where the files of vectors are, and which they are. */
interface OriginalsFrom {
  readonly originals: OriginalsPlace
  readonly listed: readonly ListedOriginals[]
}

/** Adds one to `loaded` for each field, so that the caller can close them whatever fails. */
async function loadOriginals(
  reader: SectionReader,
  { id: collectionId, definition }: CollectionEntry,
  { ordinalEnd, generation }: { readonly ordinalEnd: number; readonly generation: number },
  from: OriginalsFrom,
  loaded: (Originals | undefined)[],
): Promise<void> {
  for (const at of definition.fields.keys()) {
    const of = originalsOf(collectionId, definition, at, generation)
    if (of === undefined) {
      loaded.push(undefined)
      continue
    }
    const state = await Originals.loadState(reader, `originals.${at}`, { ordinalEnd, several: of.several })
    const originals = new Originals(from.originals, of, state)
    loaded.push(originals)
    await originals.open(from.listed)
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
