// Writes the records that a server acknowledged and that are not in the archive, because another server took over, to a file that people and
// programs can read, so that nothing disappears silently.
import path from 'node:path'
import { decodeMeta } from '@annal/engine'
import { decodeEvent, type Event } from '@annal/engine/events'
import { createWhole, nodeVfs, readHistory, writeFully } from '@annal/wal'

/** Writes the records after `from` up to `to`, one line of JSON for each. Returns the path of the file; undefined if there are none. */
export async function writeLeftBehind(
  dataDir: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<{ readonly file: string; readonly records: number } | undefined> {
  const vfs = nodeVfs()
  const dirs = [path.join(dataDir, 'archive', 'wal'), path.join(dataDir, 'wal')]
  const lines: string[] = []
  for await (const record of readHistory({ vfs, dirs }, { from: from + 1, to }))
    lines.push(JSON.stringify({ lsn: record.lsn, ...withPlainMeta(decodeEvent(record)) }, plain))
  if (lines.length === 0) return undefined
  const file = path.join(dataDir, `not-in-archive-after-${from}.jsonl`)
  await createWhole(vfs, file, (opened) => writeFully(opened, Buffer.from(`${lines.join('\n')}\n`), 0))
  return { file, records: lines.length }
}

/** Meta is a JSON object as in replies, or, if its bytes are opaque, text in base64. */
function withPlainMeta(event: Event): object {
  if (!('metas' in event)) return event
  return { ...event, metas: event.metas.map((bytes) => decodeMeta(bytes) ?? Buffer.from(bytes).toString('base64')) }
}

/** Typed arrays become arrays; 64-bit numbers become texts. */
function plain(this: object, key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  // A Buffer was replaced by the object of its `toJSON`.
  const given = Reflect.get(this, key) as unknown
  if (ArrayBuffer.isView(given) && !(given instanceof DataView))
    return Array.from(given as unknown as ArrayLike<number>)
  return value
}
