// The manifest of a checkpoint: what it holds, written last. A checkpoint without a manifest that fits does not exist.
import type { Vfs } from '@annal/wal'
import { type CatalogState, catalogOfFormat1 } from '../catalog/catalog-state.ts'
import { EngineError } from '../errors.ts'
import type { FieldSchema } from '../model/schema.ts'
import type { ListedOriginals } from '../replica/check-originals.ts'
import type { OriginalsProof } from '../replica/originals-file.ts'
import { parseOriginalsName } from '../replica/originals-of.ts'
import { readSealed, writeSealed } from './sealed-json.ts'
import type { SnapshotFileFacts } from './snapshot-format.ts'

export const manifestName = 'manifest.json'
/**
 * 2 since the catalog has tokens and settings, which a reader of format 1 would lose; 3 since files of vectors have a header, which
 * a reader of format 2 would take for a vector.
 */
const formatVersion = 3

export interface ManifestCollection {
  readonly id: number
  /** The collection's newest record that its snapshot reflects; older ones are skipped when the log is replayed. */
  readonly lsn: number
  /** As of that record: a rebuild may have changed them since the collection was created. */
  readonly fields: readonly FieldSchema[]
  /** Names of the files with vectors as they came; linked, since they only grow at their ends. */
  readonly originals: readonly string[]
  /** How much of each of them belongs to the snapshot; what follows was appended later. */
  readonly originalBytes?: readonly number[]
  /** By whom each of them was written, and the chain of its rows; null for one of which that is not known. */
  readonly originalProofs?: readonly (OriginalsProof | null)[]
  /** Objects first, then one file per dense field. */
  readonly files: readonly ({ readonly name: string; readonly part: number } & SnapshotFileFacts)[]
}

export interface Manifest {
  /** The uuid of the directory it is a checkpoint of, and its own name there; absent up to format 2. */
  readonly directory?: string
  readonly name?: string
  /** Everything up to this record is in the checkpoint: replay starts after it. */
  readonly lsn: number
  /** Time of that record: time in the log goes on from here. */
  readonly timeMs: number
  readonly catalog: CatalogState
  readonly collections: readonly ManifestCollection[]
}

/** The files of vectors of a collection, as it lists them. */
export function listedOriginals({
  originals,
  originalBytes = [],
  originalProofs = [],
}: Pick<ManifestCollection, 'originals' | 'originalBytes' | 'originalProofs'>): ListedOriginals[] {
  return originals.map((name, at) => {
    const place = parseOriginalsName(name)
    if (!place)
      throw new EngineError('snapshot_damaged', `a manifest lists ${name} as a file of vectors`, { file: name })
    const [bytes, proof] = [originalBytes[at], originalProofs[at] ?? undefined]
    return { name, ...place, ...(bytes !== undefined && { bytes }), ...(proof && { proof }) }
  })
}

export async function writeManifest(vfs: Vfs, path: string, manifest: Manifest): Promise<void> {
  await writeSealed(vfs, path, { format: formatVersion, key: 'manifest', value: manifest })
}

/** Throws snapshot_damaged or format_too_new. */
export async function readManifest(vfs: Vfs, path: string): Promise<Manifest> {
  const { value, format } = await readSealed(vfs, path, { format: formatVersion, key: 'manifest' })
  const manifest = value as Manifest
  return format === 1 ? { ...manifest, catalog: catalogOfFormat1(manifest.catalog) } : manifest
}
