// Faults of the files of a closed directory: a file is deleted, cut, or replaced by another file of its kind.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '@annal/wal/testing'

/** Kinds of files below a data directory, by path; the first match counts. */
export const kinds: readonly (readonly [kind: string, path: RegExp])[] = [
  ['identity', /^IDENTITY$/],
  ['tip', /^wal\/TIP$/],
  ['segment', /^wal\/.*\.wal$/],
  ['checkpoint-manifest', /^checkpoints\/[^/]+\/manifest\.json$/],
  ['checkpoint-objects', /^checkpoints\/.*-part-0\.snap$/],
  ['checkpoint-changes', /^checkpoints\/.*-changes-\d+\.snap$/],
  ['checkpoint-field', /^checkpoints\/.*\.snap$/],
  ['checkpoint-vectors', /^checkpoints\/.*\.f32$/],
  ['vectors', /^originals\/.*\.f32$/],
  ['backup-manifest', /^backups\/[^/]+\/manifest\.json$/],
  ['backup-changes', /^backups\/.*-changes-\d+\.snap$/],
  ['backup-part', /^backups\/.*part-\d+\.snap$/],
  ['backup-tail', /^backups\/.*tail\.snap$/],
  ['backup-vectors', /^backups\/.*\.f32$/],
  ['import-manifest', /^imports\/[^/]+\/manifest\.json$/],
  ['import-changes', /^imports\/.*-changes-\d+\.snap$/],
  ['import-part', /^imports\/.*part-\d+\.snap$/],
  ['import-tail', /^imports\/.*tail\.snap$/],
  ['import-vectors', /^imports\/.*\.f32$/],
  ['archived-segment', /^archive\/wal\/.*\.wal$/],
  ['archived-manifest', /^archive\/checkpoints\/.*manifest\.json$/],
  ['archived-changes', /^archive\/checkpoints\/.*-changes-\d+\.snap$/],
  ['archived-part', /^archive\/checkpoints\/.*\.snap$/],
  ['archived-vectors', /^archive\/checkpoints\/.*\.f32$/],
]

export type Way = 'deleted' | 'cut' | 'swapped' | 'older' | 'foreign'
/** Whether the fault affects one name, or the file under all its names. */
export type Reach = 'name' | 'file'

export interface Fault {
  readonly kind: string
  readonly way: Way
  readonly reach: Reach
  /** Path below the directory. */
  readonly file: string
  /** The file whose bytes it gets; undefined if it is deleted or cut. */
  readonly bytes: string | undefined
  /** For a swap within the directory: the other file gets the bytes of this one. */
  readonly isExchange: boolean
}

export function filesIn(dir: string): readonly string[] {
  const names = readdirSync(dir, { recursive: true }).map(String)
  return names.filter((name) => statSync(join(dir, name)).isFile()).sort()
}

export function kindOf(file: string): string | undefined {
  return kinds.find(([, path]) => path.test(file))?.[0]
}

/** Every fault of one kind that can be applied to the directory; each swap once. */
export function faultsOf(
  way: Way,
  dirs: { readonly dir: string; readonly older: string; readonly foreign: string },
): Fault[] {
  const faults: Fault[] = []
  const files = filesIn(dirs.dir)
  const [older, foreign] = [filesIn(dirs.older), filesIn(dirs.foreign)]
  for (const file of files) {
    const kind = kindOf(file)
    if (kind === undefined) continue
    const add = (bytes: string | undefined, isExchange = false) => {
      for (const reach of ['name', 'file'] as const) faults.push({ kind, way, reach, file, bytes, isExchange })
    }
    if (way === 'deleted' || way === 'cut') add(undefined)
    if (way === 'swapped')
      for (const other of files) if (other > file && kindOf(other) === kind) add(join(dirs.dir, other), true)
    if (way === 'older') for (const other of older) if (kindOf(other) === kind) add(join(dirs.older, other))
    if (way === 'foreign') for (const other of foreign) if (kindOf(other) === kind) add(join(dirs.foreign, other))
  }
  return faults
}

/** Applies the fault to a copy of the directory; a file that is cut loses its second half. Returns whether any byte changed. */
export function applyFault(copy: string, dir: string, { file, way, reach, bytes, isExchange }: Fault): boolean {
  const mine = readFileSync(join(copy, file))
  const theirs =
    way === 'cut' ? mine.subarray(0, mine.length / 2) : bytes === undefined ? undefined : readFileSync(bytes)
  if (theirs !== undefined && mine.equals(theirs)) return false
  const other = isExchange ? (bytes as string).slice(dir.length + 1) : undefined
  // Found before anything is changed.
  const places = [namesOf(copy, file, reach), other === undefined ? [] : namesOf(copy, other, reach)] as const
  for (const [names, content] of [
    [places[0], theirs],
    [places[1], mine],
  ] as const) {
    for (const name of names) {
      rmSync(join(copy, name))
      if (content !== undefined) writeFileSync(join(copy, name), content)
    }
  }
  return true
}

function namesOf(copy: string, file: string, reach: Reach): string[] {
  if (reach === 'name') return [file]
  const { ino } = statSync(join(copy, file))
  return filesIn(copy).filter((name) => statSync(join(copy, name)).ino === ino)
}

export function chosen<T>(all: readonly T[], count: number, random: Random): T[] {
  const left = [...all]
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(random.below(left.length), 1)[0] as T)
}
