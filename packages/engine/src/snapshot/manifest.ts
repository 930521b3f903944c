// The manifest of a checkpoint: what it holds, written last. A checkpoint without a manifest that fits does not exist.
import { createHash } from 'node:crypto'
import { createWhole, readFully, type Vfs, writeFully } from '@annal/wal'
import { type CatalogState, catalogOfFormat1 } from '../catalog/catalog-state.ts'
import type { FieldDefinition } from '../definition.ts'
import { EngineError } from '../errors.ts'
import type { SnapshotFileFacts } from './snapshot-file.ts'

export const manifestName = 'manifest.json'
/** 2 since the catalog has tokens and settings, which a reader of format 1 would lose. */
const formatVersion = 2
const manifestBytesMax = 256 * 1024 * 1024

export interface ManifestCollection {
  readonly id: number
  /** The collection's newest record that its snapshot reflects; older ones are skipped when the log is replayed. */
  readonly lsn: number
  /** As of that record: a rebuild may have changed them since the collection was created. */
  readonly fields: readonly FieldDefinition[]
  /** Names of the files with vectors as they came; linked, since they only grow at their ends. */
  readonly originals: readonly string[]
  /** Objects first, then one file per dense field. */
  readonly files: readonly ({ readonly name: string; readonly part: number } & SnapshotFileFacts)[]
}

export interface Manifest {
  /** Everything up to this record is in the checkpoint: replay starts after it. */
  readonly lsn: number
  /** Time of that record: time in the log goes on from here. */
  readonly timeMs: number
  readonly catalog: CatalogState
  readonly collections: readonly ManifestCollection[]
}

export async function writeManifest(vfs: Vfs, path: string, manifest: Manifest): Promise<void> {
  const body = JSON.stringify(manifest)
  const text = `{"format":${formatVersion},"sha256":"${sha256(body)}","manifest":${body}}\n`
  await createWhole(vfs, path, (file) => writeFully(file, Buffer.from(text), 0))
}

/** Throws snapshot_damaged or format_too_new. */
export async function readManifest(vfs: Vfs, path: string): Promise<Manifest> {
  const text = await readText(vfs, path)
  const found = /^\{"format":(\d+),"sha256":"([0-9a-f]{64})","manifest":(.*)\}\n(?![\s\S])/.exec(text)
  if (found === null) throw new EngineError('snapshot_damaged', `${path} is no manifest`, { file: path })
  const [, format, sum, body = ''] = found
  if (Number(format) > formatVersion) {
    throw new EngineError('format_too_new', `${path} is of format ${format}, which needs a newer Annal`, {
      file: path,
      version: Number(format),
    })
  }
  if (sha256(body) !== sum)
    throw new EngineError('snapshot_damaged', `${path} is damaged: its checksum is wrong`, { file: path })
  const manifest = JSON.parse(body) as Manifest
  return Number(format) === 1 ? { ...manifest, catalog: catalogOfFormat1(manifest.catalog) } : manifest
}

async function readText(vfs: Vfs, path: string): Promise<string> {
  const file = await vfs.open(path, 'read')
  try {
    const size = await file.size()
    if (size > manifestBytesMax)
      throw new EngineError('snapshot_damaged', `${path} has ${size} bytes, which no manifest has`, { file: path })
    const bytes = Buffer.alloc(size)
    await readFully(file, bytes, 0)
    return bytes.toString('utf8')
  } finally {
    await file.close()
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
