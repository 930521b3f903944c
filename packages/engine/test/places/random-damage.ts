// Random damage to the files of a closed directory, as by a failing medium, a careless copy, or a mistake by hand. It knows no format:
// any file may get any damage.
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Random } from '@annal/wal/testing'
import { filesIn } from './faults.ts'

export interface DamageSources {
  /** The damaged copy. */
  readonly copy: string
  /** Directories whose files may be put into it: an earlier state of the same one, and another one. */
  readonly older: string
  readonly foreign: string
}

type Damage = (sources: DamageSources, file: string, random: Random) => string

/** By name; each returns what it did. `file` is a path below the copy. */
const damages: Readonly<Record<string, Damage>> = {
  'flipped bits': ({ copy }, file, random) =>
    change(copy, file, (bytes) => {
      if (bytes.length === 0) return bytes
      for (let i = 1 + random.below(4); i > 0; i--) {
        const at = random.below(bytes.length)
        bytes[at] = (bytes[at] as number) ^ (1 << random.below(8))
      }
      return bytes
    }),
  'zeroed page': ({ copy }, file, random) =>
    change(copy, file, (bytes) => {
      const size = random.chance(0.5) ? 4096 : 512
      const start = size * random.below(Math.ceil(bytes.length / size))
      return bytes.fill(0, start, Math.min(bytes.length, start + size))
    }),
  'swapped sectors': ({ copy }, file, random) =>
    change(copy, file, (bytes) => {
      const sectors = Math.floor(bytes.length / 512)
      if (sectors < 2) return bytes
      const [a, b] = [512 * random.below(sectors), 512 * random.below(sectors)]
      const kept = Buffer.from(bytes.subarray(a, a + 512))
      bytes.copy(bytes, a, b, b + 512)
      kept.copy(bytes, b)
      return bytes
    }),
  truncated: ({ copy }, file, random) => change(copy, file, (bytes) => bytes.subarray(0, random.below(bytes.length))),
  emptied: ({ copy }, file) => change(copy, file, (bytes) => bytes.subarray(0, 0)),
  'bytes removed inside': ({ copy }, file, random) =>
    change(copy, file, (bytes) => {
      const at = random.below(bytes.length)
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(600))])
    }),
  'garbage appended': ({ copy }, file, random) =>
    change(copy, file, (bytes) => Buffer.concat([bytes, someBytes(random, 1 + random.below(5_000))])),
  'zeros appended': ({ copy }, file, random) =>
    change(copy, file, (bytes) => Buffer.concat([bytes, Buffer.alloc(1 + random.below(5_000))])),
  'own end appended again': ({ copy }, file, random) =>
    change(copy, file, (bytes) => Buffer.concat([bytes, bytes.subarray(random.below(bytes.length))])),
  garbage: ({ copy }, file, random) => change(copy, file, (bytes) => someBytes(random, bytes.length)),
  deleted: ({ copy }, file) => {
    rmSync(join(copy, file))
    return file
  },
  'swapped with any file': ({ copy }, file, random) => {
    const other = pick(filesIn(copy), random)
    return swapped(copy, file, other)
  },
  'swapped with a file of the folder': ({ copy }, file, random) => {
    const other = pick(
      filesIn(copy).filter((name) => dirname(name) === dirname(file)),
      random,
    )
    return swapped(copy, file, other)
  },
  'copied over another': ({ copy }, file, random) => {
    const other = pick(
      filesIn(copy).filter((name) => ending(name) === ending(file)),
      random,
    )
    return replaced(copy, other, readFileSync(join(copy, file)), `with ${file}`)
  },
  'duplicated under a new name': ({ copy }, file, random) => {
    const name = renumbered(basename(file), random)
    const target = join(dirname(file), name)
    return replaced(copy, target, readFileSync(join(copy, file)), `with ${file}`)
  },
  'an older copy': ({ copy, older }, file, random) => fromElsewhere(copy, older, file, random),
  'a copy from another directory': ({ copy, foreign }, file, random) => fromElsewhere(copy, foreign, file, random),
  'folder deleted': ({ copy }, file) => {
    rmSync(join(copy, folderOf(file)), { recursive: true })
    return folderOf(file)
  },
  'folders swapped': ({ copy }, file, random) => {
    const folder = folderOf(file)
    const siblings = readdirSync(join(copy, dirname(folder))).map((name) => join(dirname(folder), name))
    const other = pick(
      siblings.filter((name) => statSync(join(copy, name)).isDirectory()),
      random,
    )
    renameSync(join(copy, folder), join(copy, 'swapped'))
    if (other !== folder) renameSync(join(copy, other), join(copy, folder))
    renameSync(join(copy, 'swapped'), join(copy, other))
    return `${folder} and ${other}`
  },
  'folder duplicated': ({ copy }, file, random) => {
    const folder = folderOf(file)
    const target = join(dirname(folder), renumbered(basename(folder), random))
    cpSync(join(copy, folder), join(copy, target), { recursive: true })
    return `${folder} as ${target}`
  },
  'folder of an older state': ({ copy, older }, file, random) => folderFrom(copy, older, file, random),
  'folder of another directory': ({ copy, foreign }, file, random) => folderFrom(copy, foreign, file, random),
  'a folder in its place': ({ copy }, file) => {
    rmSync(join(copy, file))
    mkdirSync(join(copy, file))
    return file
  },
}

export interface Damaged {
  readonly what: string
  /** A path below the directory, of the damaged file, or of one in the damaged folder. */
  readonly file: string
}

/** Damages a random file: first a kind of folder is chosen, so that few files of one kind get as much as many of another. */
export function damageSomething(sources: DamageSources, random: Random, wanted = ''): Damaged {
  const files = filesIn(sources.copy)
  const places = [...new Set(files.map(placeOf))]
  const place = pick(places, random)
  const file = pick(
    files.filter((name) => placeOf(name) === place),
    random,
  )
  const names = Object.keys(damages).filter((name) => name.includes(wanted))
  const name = pick(names, random)
  // A name of this table.
  const what = (damages[name] as Damage)(sources, file, random)
  return { what: `${name}: ${what}`, file }
}

/** The folders of the format, and the kind of the file in it. */
function placeOf(file: string): string {
  const [top = '', ...rest] = file.split('/')
  return rest.length === 0 ? file.replace(/[0-9a-f]{16}/, '') : `${top} ${ending(file)}`
}

function ending(file: string): string {
  return /manifest\.json$|-changes-\d+\.snap$|[^.]*$/.exec(file)?.[0].replace(/\d+/, '') ?? ''
}

function folderOf(file: string): string {
  return file.includes('/') ? dirname(file) : file
}

function pick<T>(all: readonly T[], random: Random): T {
  // Callers give at least one.
  return all[random.below(all.length)] as T
}

function someBytes(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)))
}

/** A name with one of its numbers changed, or with something appended. */
function renumbered(name: string, random: Random): string {
  const numbers = [...name.matchAll(/\d+/g)]
  if (numbers.length === 0 || random.chance(0.2)) return `${name}${pick(['.bak', '~', ' copy', '.tmp'], random)}`
  const found = pick(numbers, random)
  const changed = String(Number(found[0].slice(-9)) + pick([-1, 1, 2], random)).padStart(found[0].length, '0')
  return name.slice(0, found.index) + changed.replace('-', '0') + name.slice(found.index + found[0].length)
}

/** Changes the file under all its names, or under this one. */
function change(copy: string, file: string, edit: (bytes: Buffer) => Buffer): string {
  return replaced(copy, file, edit(readFileSync(join(copy, file))), '')
}

/** Replaces the content under this name only for a file with an even size, under all names otherwise. */
function replaced(copy: string, file: string, bytes: Buffer, how: string): string {
  const path = join(copy, file)
  const isLinked = statSync(path, { throwIfNoEntry: false }) !== undefined && statSync(path).nlink > 1
  const staysLinked = isLinked && bytes.length % 2 === 0
  if (!staysLinked) rmSync(path, { force: true, recursive: true })
  writeFileSync(path, bytes)
  return `${file}${staysLinked ? ' under all names' : ''} ${how}`
}

function swapped(copy: string, file: string, other: string): string {
  const [mine, theirs] = [readFileSync(join(copy, file)), readFileSync(join(copy, other))]
  replaced(copy, file, theirs, '')
  return replaced(copy, other, mine, `and ${file}`)
}

function fromElsewhere(copy: string, from: string, file: string, random: Random): string {
  const there = filesIn(from)
  const same = there.filter((name) => name === file)
  const alike = there.filter((name) => placeOf(name) === placeOf(file))
  const other = pick(same.length > 0 && random.chance(0.5) ? same : alike.length > 0 ? alike : there, random)
  return replaced(copy, file, readFileSync(join(from, other)), `with ${basename(dirname(from))}/${other}`)
}

function folderFrom(copy: string, from: string, file: string, random: Random): string {
  const folder = folderOf(file)
  const folders = [...new Set(filesIn(from).map(dirname))].filter((name) => name.split('/')[0] === folder.split('/')[0])
  const other = folders.length > 0 ? pick(folders, random) : folder
  const target = random.chance(0.5) ? folder : other
  rmSync(join(copy, target), { recursive: true, force: true })
  if (folders.length > 0) cpSync(join(from, other), join(copy, target), { recursive: true })
  return `${target} is ${basename(dirname(from))}/${other}`
}
