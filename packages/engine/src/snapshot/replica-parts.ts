// Converts a replica to the parts of its snapshot files, and back.
import type { SteadyPace } from '@annal/wal'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import { assert, EngineError } from '../errors.ts'
import { FilterIndex } from '../filter/filter-index.ts'
import { Column } from '../memory/column.ts'
import { ChangedSectionReader, changedSections, sectionBytes } from '../memory/section-changes.ts'
import {
  type DumpOptions,
  damaged,
  numbersPart,
  type Section,
  type SectionReader,
  sectionOf,
  writeSections,
} from '../memory/sections.ts'
import { type FieldSchema, graphField } from '../model/schema.ts'
import type { ListedOriginals } from '../originals/check-originals.ts'
import { Originals } from '../originals/originals.ts'
import type { OriginalsFile } from '../originals/originals-chunks.ts'
import { type OriginalsPlace, originalsOwner } from '../originals/originals-owner.ts'
import { loadOriginalsState } from '../originals/originals-state.ts'
import { ObjectStore } from '../replica/object-store.ts'
import { Ordinals } from '../replica/ordinals.ts'
import { Replica } from '../replica/replica.ts'
import { TextTerms } from '../replica/text-terms.ts'
import type { WriteGate } from '../replica/write-gate.ts'
import { loadDenseField } from '../vector/dense/field.ts'
import type { DenseField, EarlierCut, FieldCut, PreparedCut, SparseField } from '../vector/field.ts'
import type { WorkerPool } from '../vector/pool.ts'
import { loadSparseField } from '../vector/sparse/field.ts'
import { lsnsPart } from './snapshot-format.ts'
import type { SnapshotSource } from './snapshot-source.ts'

/** The part that holds everything except the fields and LSNs; field i is part 1 + i. */
export const objectsPart = 0

/**
 * A replica as of one moment, which can be written out slowly, whatever is applied in the meantime. Must be released.
 */
export interface ReplicaCut {
  readonly replica: Replica
  readonly lsn: number
  /** Every part with its bytes. A piece may be live memory, so copy it in the turn that yields it. */
  readonly parts: readonly PartCut[]
  /** Files of original vectors, with their length at that moment. */
  readonly originals: readonly OriginalsFile[]
  release(): void
}

/** The bytes of a part, or of its changes since an earlier snapshot. */
export type PartCut = Pick<FieldCut, 'isDelta' | 'pieces' | 'written'> & { readonly part: number }

/** Names the snapshot of a part whose later changes may be written instead of all of it. Undefined for a part that is always written whole. */
export type EarlierPart = (part: number) => EarlierCut | undefined

/** The source of a cut: the current replica, and the gate that tells when nothing is being applied. */
export interface Cuttable {
  readonly recovering: Replica | undefined
  readonly gate: WriteGate
}

/**
 * Cuts a replica between two events. Most of the data that must be copied is copied beforehand while writers continue;
 * writers wait only while later changes are copied again. Returns undefined when there is no replica.
 */
export async function cutReplica(
  collection: Cuttable,
  pace: SteadyPace,
  earlier: EarlierPart = () => undefined,
): Promise<ReplicaCut | undefined> {
  for (;;) {
    const prepared = await collection.gate.between(() => {
      const replica = collection.recovering
      replica?.checkWhole()
      return replica && prepareCuts(replica, earlier)
    })
    if (!prepared) return undefined
    const { replica, fields } = prepared
    try {
      for (const { cut } of fields) await cut.copyAhead((bytes) => pace.spend(bytes))
      const taken = await collection.gate.between(() =>
        // A rebuild may have replaced the replica, and a field its memory.
        collection.recovering === replica && !fields.some(({ cut }) => cut.isStale()) ? takeCut(prepared) : undefined,
      )
      if (taken) return taken
    } finally {
      for (const { cut } of fields) cut.release()
    }
  }
}

interface PreparedCuts {
  readonly replica: Replica
  /** Whether only changes are written of the objects. */
  readonly isDelta: boolean
  /** The same of their LSNs. */
  readonly isLsnsDelta: boolean
  readonly fields: readonly { readonly part: number; readonly cut: PreparedCut }[]
}

/**
 * Of the parts that may have changes, either all are written as changes or none. So they share the checkpoint that they begin with, and
 * the one before it needs none of their files.
 */
function prepareCuts(replica: Replica, earlier: EarlierPart): PreparedCuts {
  const objects = earlier(objectsPart)
  const fields = fieldsOf(replica).map(({ part, field }) => {
    const since = replica.dense[part - 1] && earlier(part)
    return { part, field, ...(since && { since }) }
  })
  const isWorth = [objects, ...fields.map(({ since }) => since)].every((since) => since?.bytesMax !== 0)
  if (isWorth && (objects === undefined || isWorthChanges(replica, objects))) {
    const cuts = fields.map(({ part, field, since }) => ({ part, since, cut: field.prepareCut(since) }))
    if (cuts.every(({ since, cut }) => cut.isDelta || !since)) {
      const isDelta = objects !== undefined
      return { replica, isDelta, isLsnsDelta: isDelta && areLsnsWorthChanges(replica, earlier(lsnsPart)), fields: cuts }
    }
    for (const { cut } of cuts) cut.release()
  }
  const whole = fields.map(({ part, field }) => ({ part, cut: field.prepareCut() }))
  return { replica, isDelta: false, isLsnsDelta: false, fields: whole }
}

function isWorthChanges(replica: Replica, { id, bytesMax }: EarlierCut): boolean {
  if (replica.objectsSnapshot !== id) return false
  const sections = sectionsOf(replica, { changes: 'read' })
  for (const section of sections) section.release()
  return sectionBytes(changedSections(sections)) <= bytesMax
}

/** Unlike the larger parts, they are written whole whenever that is better, because they are small. */
function areLsnsWorthChanges(replica: Replica, since: EarlierCut | undefined): boolean {
  if (since === undefined || since.bytesMax === 0 || replica.lsnsSnapshot !== since.id) return false
  const section = replica.dumpLsns({ changes: 'read' })
  section.release()
  return sectionBytes(changedSections([section])) <= since.bytesMax
}

function takeCut({ replica, fields, isDelta, isLsnsDelta }: PreparedCuts): ReplicaCut {
  replica.checkWhole()
  const cuts = fields.map(({ part, cut }) => ({ part, cut: cut.take() }))
  // The replica stays open until the cut is released, whatever is rebuilt or deleted. No version is this high, so no
  // writer waits for the pin.
  const unpin = replica.pins.pin(Number.MAX_SAFE_INTEGER)
  const all = sectionsOf(replica, { changes: 'restart' })
  const sections = isDelta ? changedSections(all) : all
  // From here on the changes belong to this cut: unless it is written, the next one is whole.
  replica.objectsSnapshot = undefined
  const written = (id: string) => {
    replica.objectsSnapshot = id
  }
  const lsns = takeLsns(replica, isLsnsDelta)
  return {
    replica,
    lsn: replica.lsnApplied,
    // Objects first: their changed blocks are copied in larger pieces than those of fields.
    parts: [
      { part: objectsPart, isDelta, pieces: writeSections(sections), written },
      ...cuts.map(({ part, cut }) => ({ ...cut, part })),
      ...lsns.parts,
    ],
    originals: replica.originals.flatMap((file) => file?.files() ?? []),
    release: () => {
      for (const { cut } of cuts) cut.release()
      for (const section of sections) section.release()
      lsns.release()
      unpin()
    },
  }
}

/** The LSNs of a collection that ever had objects. */
function takeLsns(replica: Replica, isDelta: boolean): { readonly parts: readonly PartCut[]; release(): void } {
  if (replica.ordinals.end === 0) return { parts: [], release: () => undefined }
  const section = replica.dumpLsns({ changes: 'restart' })
  replica.lsnsSnapshot = undefined
  const written = (id: string) => {
    replica.lsnsSnapshot = id
  }
  const pieces = writeSections(isDelta ? changedSections([section]) : [section])
  return { parts: [{ part: lsnsPart, isDelta, pieces, written }], release: () => section.release() }
}

function fieldsOf({ dense, sparse }: Replica): { readonly part: number; readonly field: DenseField | SparseField }[] {
  return dense.flatMap((field, index) => {
    const one = field ?? sparse[index]
    return one ? { part: 1 + index, field: one } : []
  })
}

function sectionsOf(replica: Replica, options: DumpOptions): Section[] {
  const { end, free, resting } = replica.ordinals.state()
  const { version, lsnApplied, generation } = replica
  const head = [version, lsnApplied, end, free.length, resting.length, generation]
  return [sectionOf('replica', ...[head, free, resting].map(numbersPart)), ...replica.dumpObjects(options)]
}

/** Opens one file of a part. */
export type OpenSource = () => Promise<SnapshotSource>

/** `filesOf` gives the files of a part: all of it, then its changes in order; none of LSNs that are unknown. Throws snapshot_damaged when a part does not hold what it must. Sources are always closed. */
export async function loadReplica(
  entry: CollectionEntry,
  lsn: number,
  filesOf: (part: number) => readonly OpenSource[],
  from: {
    readonly pool: WorkerPool
    readonly originals: OriginalsPlace
    /** The files of original vectors that belong to the snapshot. */
    readonly listed: readonly ListedOriginals[]
    /** The LSN of the replica when its records have other numbers here than where the snapshot was made. */
    readonly lsnApplied?: number
  },
): Promise<Replica> {
  // In parallel: the slow parts are the disk and the first use of memory pages.
  const lsnFiles = filesOf(lsnsPart)
  const lsns =
    lsnFiles.length === 0 ? undefined : readPart(lsnFiles, (source, deltas) => loadLsns(source, deltas, entry))
  // Awaited with the rest of the objects.
  lsns?.catch(() => undefined)
  const objects = readPart(filesOf(objectsPart), (source, deltas) =>
    loadObjects({ source, deltas, lsns }, entry, lsn, from),
  )
  const fields = entry.definition.fields.map((field, index) =>
    readPart(filesOf(1 + index), (source, deltas) => loadField(field, source, deltas, from.pool)),
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
    lsnCreated: entry.lsnCreated,
  })
}

interface Closable {
  close(): Promise<void>
}

async function readPart<T>(
  [open, ...later]: readonly OpenSource[],
  load: (source: SnapshotSource, deltas: AsyncIterable<SnapshotSource>) => Promise<T>,
): Promise<T> {
  assert(open, 'a part has a file')
  const source = await open()
  try {
    return await load(source, openedInTurn(later))
  } finally {
    await source.close()
  }
}

async function* openedInTurn(files: readonly OpenSource[]): AsyncGenerator<SnapshotSource> {
  for (const open of files) {
    const source = await open()
    try {
      yield source
    } finally {
      await source.close()
    }
  }
}

async function loadField(
  field: FieldSchema,
  source: SnapshotSource,
  deltas: AsyncIterable<SnapshotSource>,
  pool: WorkerPool,
) {
  const graph = graphField(field)
  const dense = graph && (await loadDenseField(graph, pool, source, { deltas }))
  const sparse = await loadLists(field, source, pool)
  return { dense, sparse, close: async () => (dense ?? sparse)?.close() }
}

async function loadLists(field: FieldSchema, source: SnapshotSource, pool: WorkerPool) {
  if (field.kind === 'text') return loadSparseField(field, pool, source, 'counts')
  return field.kind === 'sparse' ? loadSparseField(field, pool, source) : undefined
}

/** The LSNs by ordinal, and how many of them there are. */
type LoadedLsns = Awaited<ReturnType<typeof Column.loadAny>>

async function loadLsns(
  source: SnapshotSource,
  deltas: AsyncIterable<SnapshotSource>,
  { id }: CollectionEntry,
): Promise<LoadedLsns> {
  const reader = await ChangedSectionReader.over(source, `collection ${id}`, deltas)
  const loaded = await Column.loadAny(reader, 'objects.lsns', 'f64')
  await source.end()
  return loaded
}

async function loadObjects(
  {
    source,
    deltas,
    lsns: loadingLsns,
  }: {
    readonly source: SnapshotSource
    readonly deltas: AsyncIterable<SnapshotSource>
    readonly lsns: Promise<LoadedLsns> | undefined
  },
  entry: CollectionEntry,
  lsn: number,
  from: OriginalsFrom,
) {
  const reader = await ChangedSectionReader.over(source, `collection ${entry.id}`, deltas)
  const { version, ordinals, generation } = await readHead(reader, lsn)
  const lsns = await loadingLsns
  if (lsns && lsns.length !== ordinals.end)
    throw damaged('objects.lsns', `it has ${lsns.length} entries, not ${ordinals.end}`)
  const objects = await ObjectStore.load(reader, 'objects', ordinals.end, lsns?.column)
  const filters = await FilterIndex.load(reader, 'filters')
  const terms = await TextTerms.load(reader, 'terms', entry)
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
  return { objects, filters, terms, originals, ordinals, generation, version, close }
}

/** Location and list of the files of original vectors. */
interface OriginalsFrom {
  readonly originals: OriginalsPlace
  readonly listed: readonly ListedOriginals[]
}

/** Adds one entry to `loaded` for each field, so that the caller can close them whatever fails. */
async function loadOriginals(
  reader: SectionReader,
  { id: collectionId, definition }: CollectionEntry,
  { ordinalEnd, generation }: { readonly ordinalEnd: number; readonly generation: number },
  from: OriginalsFrom,
  loaded: (Originals | undefined)[],
): Promise<void> {
  for (const index of definition.fields.keys()) {
    const owner = originalsOwner(collectionId, definition, index, generation)
    if (owner === undefined) {
      loaded.push(undefined)
      continue
    }
    // Without original vectors there is no section: checkpoints of earlier versions have none for such a field.
    if (owner.isPartial && !from.listed.some(({ field }) => field === index)) {
      loaded.push(new Originals(from.originals, owner))
      continue
    }
    const state = await loadOriginalsState(reader, `originals.${index}`, { ordinalEnd, several: owner.several })
    const originals = new Originals(from.originals, owner, state)
    loaded.push(originals)
    await originals.open(from.listed)
  }
}

async function readHead(
  reader: SectionReader,
  lsn: number,
): Promise<{ version: number; ordinals: Ordinals; generation: number }> {
  const body = await reader.open('replica')
  const [version = 0, storedLsn = 0, end = 0, free = 0, resting = 0, generation = 0] = await body.takeNumbers(6)
  if (storedLsn !== lsn || body.remaining !== (free + resting) * 8) {
    throw new EngineError(
      'snapshot_damaged',
      `${body.part} is of LSN ${storedLsn} with ${body.remaining} bytes of ordinals, which does not match`,
      { part: body.part },
    )
  }
  const ordinals = new Ordinals({ end, free: await body.takeNumbers(free), resting: await body.takeNumbers(resting) })
  await body.end()
  return { version, ordinals, generation }
}
