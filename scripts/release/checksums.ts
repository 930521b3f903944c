// The file SHA256SUMS, as `sha256sum --check` reads it, and the comparison of two folders of artifacts.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { archiveDifferences, isArchive } from './archive-differences.ts'

export const checksumsFile = 'SHA256SUMS'

/** Digests by name, in the order of names. */
export async function digestsOf(dir: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(dir, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && entry.name !== checksumsFile).map((entry) => entry.name)
  const digests = new Map<string, string>()
  for (const name of names.sort()) digests.set(name, await sha256Of(path.join(dir, name)))
  return digests
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const bytes of createReadStream(file)) hash.update(bytes as Buffer)
  return hash.digest('hex')
}

/** Resolves to the path of the file. */
export async function writeChecksums(dir: string): Promise<string> {
  const lines = [...(await digestsOf(dir))].map(([name, digest]) => `${digest}  ${name}\n`)
  const file = path.join(dir, checksumsFile)
  await writeFile(file, lines.join(''))
  return file
}

/** A sentence for each file that only one folder has, or that has other bytes in the other, and for what differs in it if it is an archive. */
export async function differences(first: string, second: string): Promise<string[]> {
  const [one, other] = [await digestsOf(first), await digestsOf(second)]
  const found: string[] = []
  for (const name of [...new Set([...one.keys(), ...other.keys()])].sort()) {
    const [a, b] = [one.get(name), other.get(name)]
    if (a === b) continue
    if (a === undefined || b === undefined) {
      found.push(`${name} is in one of two builds only`)
      continue
    }
    const inside = isArchive(name) ? await archiveDifferences(path.join(first, name), path.join(second, name)) : []
    found.push([`${name} has other bytes in a second build: ${a} and ${b}`, ...inside].join('\n  '))
  }
  return found
}
