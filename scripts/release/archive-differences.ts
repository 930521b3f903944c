// Says in which entries two archives differ, and how: contents, modes, owners, times, links, order. Of images in the layout of OCI it
// compares the index, the manifest, the configuration, and each layer. Archives are read by tar of GNU.
import { spawn } from 'node:child_process'
import { createHash, type Hash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { runStep } from './run-step.ts'

/** As many differences of one archive are stated, and the others are counted. */
const statedMax = 20
const textMax = 200

/** Whether `archiveDifferences` reads files of this name. */
export const isArchive = (name: string): boolean => /\.(tar|tgz|tar\.gz)$/.test(name)

/** Resolves to at least one sentence for archives with other bytes. */
export async function archiveDifferences(first: string, second: string): Promise<string[]> {
  const [one, other] = [await entriesOf(first), await entriesOf(second)]
  if (one.has('oci-layout') && other.has('oci-layout')) return imageDifferences(first, second)
  return limited(entryDifferences(one, other))
}

interface Entry {
  readonly mode: string
  readonly owner: string
  readonly size: string
  readonly time: string
  readonly link: string
  readonly content: string
}

type Entries = ReadonlyMap<string, Entry>

/** In the order of the archive. A second entry of one name has a number. */
async function entriesOf(archive: string): Promise<Entries> {
  const how = ['--verbose', '--full-time', '--numeric-owner', '--quoting-style=escape']
  const listed = await runStep('tar', ['--list', ...how, '--file', archive], { env: { TZ: 'UTC', LC_ALL: 'C' } })
  const lines = listed.split('\n').filter((line) => line !== '')
  const parsed = lines.map((line) => {
    const [, mode = '', owner = '', size = '', time = '', rest = ''] =
      /^(\S+) (\S+) +(\S+) (\S+ \S+) (.*)$/.exec(line) ?? []
    const [name = '', link = ''] = mode.startsWith('l') ? rest.split(' -> ') : rest.split(' link to ')
    return { name, mode, owner, size, time, link }
  })
  const digests = await contentsOf(
    archive,
    parsed.filter(({ mode }) => mode.startsWith('-')).map(({ size }) => Number(size)),
  )
  const entries = new Map<string, Entry>()
  for (const { name, ...rest } of parsed) {
    const content = rest.mode.startsWith('-') ? (digests.shift() ?? '') : ''
    let key = name
    for (let times = 2; entries.has(key); times += 1) key = `${name} (${times})`
    entries.set(key, { ...rest, content })
  }
  return entries
}

/** Digests of the files in the archive, whose sizes are known. */
async function contentsOf(archive: string, sizes: readonly number[]): Promise<string[]> {
  const child = spawn('tar', ['--extract', '--to-stdout', '--file', archive], { stdio: ['ignore', 'pipe', 'inherit'] })
  const digests: string[] = []
  let hash: Hash = createHash('sha256')
  let left = sizes[0] ?? 0
  const end = () => {
    while (left === 0 && digests.length < sizes.length) {
      digests.push(hash.digest('hex'))
      hash = createHash('sha256')
      left = sizes[digests.length] ?? 0
    }
  }
  end()
  for await (const bytes of child.stdout) {
    for (let chunk = bytes as Buffer; chunk.length > 0; ) {
      const part = chunk.subarray(0, left)
      hash.update(part)
      left -= part.length
      chunk = chunk.subarray(part.length)
      end()
      if (part.length === 0) throw new Error(`${archive}: tar wrote more than it listed`)
    }
  }
  return digests
}

function entryDifferences(one: Entries, other: Entries): string[] {
  const names = [...new Set([...one.keys(), ...other.keys()])]
  const found = names.flatMap((name) => {
    const [a, b] = [one.get(name), other.get(name)]
    if (a === undefined || b === undefined) return [`${name} is only in the ${a ? 'first' : 'second'}`]
    const parts = (Object.keys(a) as (keyof Entry)[]).filter((part) => a[part] !== b[part])
    return parts.length === 0 ? [] : [`${name}: ${parts.map((part) => `${part} ${a[part]} and ${b[part]}`).join(', ')}`]
  })
  if (found.length > 0) return found
  const [left, right] = [[...one.keys()], [...other.keys()]]
  const at = left.findIndex((name, index) => name !== right[index])
  if (at >= 0) return [`the same entries in another order: entry ${at + 1} is ${left[at]} and ${right[at]}`]
  return ['the same entries with the same contents: headers, padding, or the compression differ']
}

function limited(found: readonly string[]): string[] {
  const more = found.length - statedMax
  return more <= 0 ? [...found] : [...found.slice(0, statedMax), `and ${more} more`]
}

interface Blob {
  readonly digest: string
}

async function imageDifferences(first: string, second: string): Promise<string[]> {
  const top = await mkdtemp(path.join(os.tmpdir(), 'annal-archives-'))
  try {
    const images = [await openImage(first, path.join(top, 'a')), await openImage(second, path.join(top, 'b'))] as const
    const found = ['index', 'manifest', 'config'].flatMap((part) =>
      valueDifferences(images[0].parts[part], images[1].parts[part], part),
    )
    const [one, other] = images.map(({ layers }) => layers) as [string[], string[]]
    for (const [index, layer] of one.entries()) {
      const same = other[index]
      if (same === undefined || path.basename(layer) === path.basename(same)) continue
      const inside = await archiveDifferences(layer, same)
      found.push(...inside.map((one) => `layer ${index + 1} of ${other.length}: ${one}`))
    }
    // The image is the same. What is left is how the archive was written.
    return found.length > 0 ? found : limited(entryDifferences(await entriesOf(first), await entriesOf(second)))
  } finally {
    await rm(top, { recursive: true, force: true })
  }
}

interface Image {
  readonly parts: Readonly<Record<string, unknown>>
  /** Files, the lowest first. */
  readonly layers: readonly string[]
}

async function openImage(archive: string, folder: string): Promise<Image> {
  await mkdir(folder)
  await runStep('tar', ['--extract', '--file', archive, '-C', folder])
  const blob = ({ digest }: Blob) => path.join(folder, 'blobs', ...digest.split(':'))
  const read = async (file: string): Promise<unknown> => JSON.parse(await readFile(file, 'utf8'))
  const index = (await read(path.join(folder, 'index.json'))) as { readonly manifests: readonly Blob[] }
  const [image] = index.manifests
  if (image === undefined) throw new Error(`${archive} has no image`)
  const manifest = (await read(blob(image))) as { readonly config: Blob; readonly layers: readonly Blob[] }
  const config = await read(blob(manifest.config))
  return { parts: { index, manifest, config }, layers: manifest.layers.map(blob) }
}

/** Members that follow from the bytes of other parts. */
const derived = ['digest', 'size', 'diff_ids']

/** Paths of members with another value. */
function valueDifferences(one: unknown, other: unknown, where: string): string[] {
  if (!isObject(one) || !isObject(other)) {
    const [a, b] = [JSON.stringify(one) ?? 'nothing', JSON.stringify(other) ?? 'nothing']
    return a === b ? [] : [`${where}: ${a.slice(0, textMax)} and ${b.slice(0, textMax)}`]
  }
  const keys = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...keys].flatMap((key) =>
    derived.includes(key)
      ? []
      : valueDifferences(one[key], other[key], `${where}${Array.isArray(one) ? `[${key}]` : `.${key}`}`),
  )
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
