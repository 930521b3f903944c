// Damage to the files of a log on the simulated disk, as by a failing medium, a careless copy or a manual mistake.
import { type Random, SimDirectory, type SimDisk, SimFile, sectorBytes } from '../src/testing/index.ts'
import type { History, Scene } from './history.ts'

const dir = '/data/wal'

export type Damage = (scene: Scene) => void

/** Kinds that need no earlier state. */
export const damageKinds: Readonly<Record<string, Damage>> = {
  'one flipped bit': ({ disk, random }) =>
    inSegment(disk, random, (content, offset) => {
      content[offset] = (content[offset] ?? 0) ^ (1 << random.below(8))
    }),
  'a zeroed sector': ({ disk, random }) =>
    inSegment(disk, random, (content, offset) => {
      const start = offset - (offset % sectorBytes)
      content.fill(0, start, Math.min(content.length, start + sectorBytes))
    }),
  'two swapped sectors': ({ disk, random }) =>
    inSegment(disk, random, (content, offset) => {
      const sectors = Math.floor(content.length / sectorBytes)
      if (sectors < 2) return
      const one = Math.min(sectors - 1, Math.floor(offset / sectorBytes)) * sectorBytes
      const two = random.below(sectors) * sectorBytes
      const kept = Buffer.from(content.subarray(one, one + sectorBytes))
      content.copy(content, one, two, two + sectorBytes)
      kept.copy(content, two)
    }),
  'a sector from before its last bytes were written': ({ disk, random }) =>
    inSegment(disk, random, (content, offset) => {
      const start = offset - (offset % 8)
      content.fill(0, start, Math.min(content.length, start + sectorBytes - (start % sectorBytes)))
    }),
  'a segment that is there twice': ({ disk, random }) =>
    inDirectory(disk, (names) => {
      const [name, file] = pickSegment(names, random)
      if (name === undefined || file === undefined) return
      const [id, lsn] = [Number(name.slice(0, 20)), Number(name.slice(21, 41))]
      const copyId = id + 1 + random.below(names.size)
      if (!names.has(segmentNamed(copyId, lsn))) names.set(segmentNamed(copyId, lsn), file.copy())
    }),
  'a segment that is gone': ({ disk, random }) =>
    inDirectory(disk, (names) => {
      const [name] = pickSegment(names, random)
      if (name !== undefined) names.delete(name)
    }),
}

/** Restores an older TIP. */
export function olderTip(): Damage {
  let kept: SimFile | undefined
  return ({ disk, history, random }) => {
    const tip = disk.node(`${dir}/TIP`)
    if (kept !== undefined && history.generation > 0 && random.chance(0.7)) {
      const older = kept
      inDirectory(disk, (names) => names.set('TIP', older.copy()))
    } else if (tip instanceof SimFile) kept = tip.copy()
  }
}

/** Restores the whole directory from before an earlier start; records acknowledged since are lost on purpose. */
export function olderDirectory(lastGeneration: number): Damage {
  let kept: { root: SimDirectory; history: History } | undefined
  return ({ disk, history }) => {
    if (history.generation === lastGeneration && kept !== undefined) {
      disk.replaceRoot(kept.root)
      history.issued.length = Math.min(history.issued.length, kept.history.issued.length)
      history.lsns.length = history.issued.length
      history.durable = kept.history.durable
      history.stamped = kept.history.stamped
      history.checkpointed = kept.history.checkpointed
    } else if (disk.root instanceof SimDirectory) {
      kept = { root: disk.root.copy(), history: { ...history, issued: [...history.issued], lsns: [...history.lsns] } }
    }
  }
}

function segmentNamed(id: number, lsn: number): string {
  return `${String(id).padStart(20, '0')}-${String(lsn).padStart(20, '0')}.wal`
}

/** Damages a random byte of the log; every byte is equally likely. */
function inSegment(disk: SimDisk, random: Random, change: (content: Buffer, offset: number) => void): void {
  const directory = disk.node(dir)
  if (!(directory instanceof SimDirectory)) return
  const files: SimFile[] = []
  for (const name of directory.list()) {
    const file = directory.get(name)
    if (name.endsWith('.wal') && file instanceof SimFile && file.size > 0) files.push(file)
  }
  let offset = random.below(files.reduce((sum, file) => sum + file.size, 0))
  for (const file of files) {
    if (offset >= 0 && offset < file.size) {
      const here = offset
      file.damage((content) => change(content, here))
    }
    offset -= file.size
  }
}

function inDirectory(disk: SimDisk, change: Parameters<SimDirectory['damage']>[0]): void {
  const directory = disk.node(dir)
  if (directory instanceof SimDirectory) directory.damage(change)
}

function pickSegment(names: ReadonlyMap<string, unknown>, random: Random): [string?, SimFile?] {
  const found = [...names.keys()].filter((name) => name.endsWith('.wal'))
  const name = found[random.below(found.length)]
  const file = name === undefined ? undefined : names.get(name)
  return name !== undefined && file instanceof SimFile ? [name, file] : []
}
