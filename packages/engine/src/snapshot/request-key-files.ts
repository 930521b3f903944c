// The files with request keys in a checkpoint: writes and reads them. What they have is decided in request-keys-cut.ts.
import { join } from 'node:path'
import type { SteadyPace, Vfs } from '@annal/wal'
import { EngineError } from '../errors.ts'
import type { KeyTable } from '../requests/key-table.ts'
import type { Checkpoint } from './checkpoint.ts'
import { linkAll } from './checkpoint-files.ts'
import { listedRequestKeys, type ManifestRequestKeys } from './manifest.ts'
import type { RequestKeysCut } from './request-keys-cut.ts'
import { writeSnapshotFile } from './snapshot-file.ts'
import { SnapshotSource } from './snapshot-source.ts'

/** Writes the keys into a checkpoint. */
export async function writeRequestKeys(
  vfs: Vfs,
  { from, to }: { readonly from: string | undefined; readonly to: string },
  cut: RequestKeysCut,
  pace: SteadyPace,
): Promise<readonly ManifestRequestKeys[]> {
  const { lsn, linked } = cut
  const names = linked.map(({ name }) => name)
  const isLinked = from !== undefined && (await linkAll(vfs, from, to, names))
  const [files, rest] = isLinked ? [linked, cut.rest] : [[], cut.whole()]
  if (rest === undefined) return files
  const name = `request-keys-${String(lsn).padStart(20, '0')}.snap`
  const facts = await writeSnapshotFile(vfs, join(to, name), { collectionId: 0, part: 0, lsn }, rest.pieces, pace)
  return [...files, { name, lsn, count: rest.count, ...facts }]
}

/** Reads the keys of a checkpoint: the verified content of each file, in order. Throws snapshot_damaged. */
async function readRequestKeys(vfs: Vfs, { path, manifest }: Checkpoint): Promise<Uint8Array[]> {
  const contents: Uint8Array[] = []
  for (const { name, expected } of listedRequestKeys(manifest)) {
    const source = await SnapshotSource.open(vfs, join(path, name), expected)
    try {
      const bytes = new Uint8Array(source.left)
      await source.fill(bytes)
      await source.end()
      contents.push(bytes)
    } finally {
      await source.close()
    }
  }
  return contents
}

/** Loads the keys of the newest checkpoint that has them intact. `lsn`: the log has the keys after it. */
export async function loadRequestKeys(
  vfs: Vfs,
  checkpoints: readonly Checkpoint[],
  keys: KeyTable,
  onTrouble: (sentence: string, checkpoint: Checkpoint) => void,
): Promise<{ readonly lsn: number }> {
  for (const checkpoint of checkpoints) {
    try {
      for (const bytes of await readRequestKeys(vfs, checkpoint)) keys.load(bytes)
      return { lsn: checkpoint.manifest.lsn }
    } catch (error) {
      if (!(error instanceof EngineError && error.code === 'snapshot_damaged')) throw error
      onTrouble(`request keys in checkpoint ${checkpoint.manifest.lsn}: ${error.message}`, checkpoint)
    }
  }
  return { lsn: checkpoints[0]?.manifest.lsn ?? 0 }
}
