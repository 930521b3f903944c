// The manifest of a checkpoint lists its content and is written last. A checkpoint without a valid manifest does not
// exist.
import type { Vfs } from '@annal/wal'
import { type CatalogState, catalogOfFormat1 } from '../catalog/catalog-state.ts'
import { EngineError } from '../errors.ts'
import { type FieldSchema, hasPackedCodes, hasRecall, hasText } from '../model/schema.ts'
import type { ListedOriginals } from '../originals/check-originals.ts'
import type { OriginalsProof } from '../originals/originals-file.ts'
import { parseOriginalsName } from '../originals/originals-owner.ts'
import { readSealed, writeSealed } from './sealed-json.ts'
import { lsnsPart, type SnapshotFileFacts, type SnapshotHead } from './snapshot-format.ts'

export const manifestName = 'manifest.json'
/**
 * Format 2 added tokens and settings to the catalog, which a reader of format 1 would lose. Format 3 added a header to
 * files of original vectors, which a reader of format 2 would take for a vector. Format 4 has vectors of cosine fields as
 * they were given, which a reader of format 3 would take for vectors of unit length. Format 5 has files with later changes of a field, which
 * a reader of format 4 would not find. Format 6 has them of the objects as well, which a reader of format 5 would not read.
 * Format 7 has fields of int4 and int2, which a reader of format 6 does not know. Format 8 has fields with a default recall, which a reader of
 * format 7 would ignore. Format 9 has request keys, which a reader of format 8 would lose. Format 10 has the LSNs of objects, cursors of the
 * change feed, aliases, branches, and new names of collections, which a reader of format 9 would lose. Format 11 has objects that expire, which
 * a reader of format 10 would return for ever. Format 12 has text fields, which a reader of format 11 does not know. Format 13 has
 * collections that were out of service, whose later records a reader of format 12 would not replay.
 */
const formatVersion = 13
const formatWithTexts = 12
/** Written where a manifest has nothing of the later formats, so that earlier versions can read the directory. */
const formatWithExpiries = 11
const formatWithLsns = 10
const formatWithRequestKeys = 9
const formatWithRecall = 8
const formatWithPackedCodes = 7
const formatWithObjectDeltas = 6
const formatWithFieldDeltas = 5
const formatWithoutDeltas = 4

/** A file that has what changed in a part since the file before it. */
export interface ManifestDelta extends SnapshotFileFacts {
  readonly name: string
  readonly lsn: number
}

export interface ManifestFile extends SnapshotFileFacts {
  readonly name: string
  readonly part: number
  /** The newest record that the file reflects; absent where it is that of the collection. */
  readonly lsn?: number
  /** Later changes, in order. The last reflects the collection's newest record. */
  readonly deltas?: readonly ManifestDelta[]
}

export interface ManifestCollection {
  readonly id: number
  /** The newest record of the collection that its snapshot reflects; a replay of the log skips older ones. */
  readonly lsn: number
  /** The fields as of that record: a rebuild may have changed them since the collection was created. */
  readonly fields: readonly FieldSchema[]
  /** The default expiry as of that record. */
  readonly ttlSeconds?: number
  /** Objects may have an expiry. */
  readonly expires?: true
  /** Names of the files of original vectors; they are linked, because they only grow at their end. */
  readonly originals: readonly string[]
  /** The number of bytes of each file that belong to the snapshot; later bytes were appended afterwards. */
  readonly originalBytes?: readonly number[]
  /** For each file its writer and the checksum chain of its rows; null where that is unknown. */
  readonly originalProofs?: readonly (OriginalsProof | null)[]
  /** The objects first, then one file for each field. */
  readonly files: readonly ManifestFile[]
  /**
   * Present if the collection was out of service when the checkpoint was taken: its files hold its records up to this LSN, not up to that of
   * the checkpoint. A replay begins after this record.
   */
  readonly lsnHeld?: number
}

export interface Manifest {
  /** The uuid of its directory and its own name there; absent up to format 2. */
  readonly directory?: string
  readonly name?: string
  /** The checkpoint holds everything up to this record: a replay starts after it. */
  readonly lsn: number
  /** Time of that record; log time continues from here. */
  readonly timeMs: number
  /** Where a replicated log continues; absent with a log of local files. */
  readonly logPlace?: string
  readonly catalog: CatalogState
  readonly collections: readonly ManifestCollection[]
  /** Files with request keys, in the order of their LSNs; absent if there are none. */
  readonly requestKeys?: readonly ManifestRequestKeys[]
}

/** A file with the request keys after those of the file before it. */
export interface ManifestRequestKeys extends SnapshotFileFacts {
  readonly name: string
  /** The newest record whose key it has. It may be later than the checkpoint's: replay skips the keys of older records. */
  readonly lsn: number
  /** Number of keys in it. */
  readonly count: number
}

/** Of the checkpoint, the files of this collection hold everything up to this record. */
export function lsnHeldOf(
  { lsn }: Pick<Manifest, 'lsn'>,
  { lsnHeld = lsn }: Pick<ManifestCollection, 'lsnHeld'>,
): number {
  return lsnHeld
}

/** The checkpoint holds everything up to this record, of every collection: what reads the log from here on misses nothing. */
export function lsnHeldByAll(manifest: Manifest): number {
  return Math.min(manifest.lsn, ...manifest.collections.map((collection) => lsnHeldOf(manifest, collection)))
}

/** The newest record that any part of the checkpoint reflects: parts may be later than the checkpoint. The log has it. */
export function lsnReachedBy({ lsn, catalog, collections, requestKeys = [] }: Manifest): number {
  return Math.max(lsn, catalog.lsn, ...[...collections, ...requestKeys].map((part) => part.lsn))
}

/** A snapshot file of a collection and what its header and its chunks must be. */
export interface ListedFile {
  readonly name: string
  readonly expected: SnapshotHead & SnapshotFileFacts
}

/** The files of one part: all of it, then its changes in order. */
export function listedFiles(
  { id: collectionId, lsn }: Pick<ManifestCollection, 'id' | 'lsn'>,
  file: ManifestFile,
): ListedFile[] {
  const { name, part, bytes, sum, deltas = [] } = file
  const first: ListedFile = { name, expected: { collectionId, part, lsn: file.lsn ?? lsn, bytes, sum } }
  let since = first.expected.lsn
  return [
    first,
    ...deltas.map((delta) => {
      const expected = { collectionId, part, lsn: delta.lsn, since, bytes: delta.bytes, sum: delta.sum }
      since = delta.lsn
      return { name: delta.name, expected }
    }),
  ]
}

/** All snapshot files of a collection. */
export function snapshotFiles(collection: ManifestCollection): ListedFile[] {
  return collection.files.flatMap((file) => listedFiles(collection, file))
}

/** The files with request keys. They belong to no collection. */
export function listedRequestKeys({ requestKeys = [] }: Manifest): ListedFile[] {
  return requestKeys.map(({ name, lsn, bytes, sum }) => ({
    name,
    expected: { collectionId: 0, part: 0, lsn, bytes, sum },
  }))
}

/** Names the state that the files of a part produce. */
export function chainId(collection: Pick<ManifestCollection, 'id' | 'lsn'>, file: ManifestFile): string {
  return listedFiles(collection, file)
    .map(({ expected: { lsn, sum } }) => `${lsn}-${sum}`)
    .join(' ')
}

/** The files of original vectors, as the manifest lists them. */
export function listedOriginals({
  originals,
  originalBytes = [],
  originalProofs = [],
}: Pick<ManifestCollection, 'originals' | 'originalBytes' | 'originalProofs'>): ListedOriginals[] {
  return originals.map((name, index) => {
    const place = parseOriginalsName(name)
    if (!place)
      throw new EngineError('snapshot_damaged', `a manifest lists ${name} as a file of original vectors`, {
        file: name,
      })
    const [bytes, proof] = [originalBytes[index], originalProofs[index] ?? undefined]
    return { name, ...place, ...(bytes !== undefined && { bytes }), ...(proof && { proof }) }
  })
}

export async function writeManifest(vfs: Vfs, path: string, manifest: Manifest): Promise<void> {
  const changed = manifest.collections.flatMap(({ files }) => files.filter(({ deltas }) => deltas?.length))
  const hasObjects = changed.some(({ part }) => part === 0)
  const ofFiles = hasObjects ? formatWithObjectDeltas : changed.length > 0 ? formatWithFieldDeltas : formatWithoutDeltas
  const fields = manifest.collections.flatMap((collection) => collection.fields)
  const ofFields = fields.some(hasRecall)
    ? formatWithRecall
    : fields.some(hasPackedCodes)
      ? formatWithPackedCodes
      : ofFiles
  const ofKeys = manifest.requestKeys?.length ? formatWithRequestKeys : ofFields
  const hasLsns = manifest.collections.some(({ files }) => files.some(({ part }) => part === lsnsPart))
  const hasMore = manifest.catalog.cursors?.length || hasNames(manifest.catalog)
  const ofLsns = hasLsns || hasMore ? formatWithLsns : ofKeys
  const ofExpiries = hasExpiries(manifest) ? formatWithExpiries : ofLsns
  const hasTexts =
    fields.some(hasText) || manifest.catalog.collections.some((one) => one.definition.fields.some(hasText))
  const ofTexts = hasTexts ? formatWithTexts : ofExpiries
  // An earlier version would not replay the records in between.
  const format = manifest.collections.some(({ lsnHeld }) => lsnHeld !== undefined) ? formatVersion : ofTexts
  await writeSealed(vfs, path, { format, key: 'manifest', value: manifest })
}

function hasExpiries({ catalog, collections }: Manifest): boolean {
  if (collections.some(({ expires, ttlSeconds }) => expires || ttlSeconds !== undefined)) return true
  return catalog.collections.some(({ definition }) => definition.ttlSeconds !== undefined)
}

function hasNames({ aliases, collections }: CatalogState): boolean {
  // A former parent has a branch, and a collection that gave its name away replaced or was replaced.
  return aliases !== undefined || collections.some(({ parent, lsnNamed }) => parent ?? lsnNamed)
}

/** Throws snapshot_damaged or format_too_new. */
export async function readManifest(vfs: Vfs, path: string): Promise<Manifest> {
  const { value, format } = await readSealed(vfs, path, { format: formatVersion, key: 'manifest' })
  const manifest = value as Manifest
  return format === 1 ? { ...manifest, catalog: catalogOfFormat1(manifest.catalog) } : manifest
}
