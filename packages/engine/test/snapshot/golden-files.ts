// Golden directories in files: every file of a data directory by its path, with what the directory must give.
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib'

export interface GoldenFiles {
  /** Files by path, in base64. */
  readonly files: Readonly<Record<string, string>>
}

/** The files of a directory that a killed engine left. */
export async function filesOfKilled(dir: string): Promise<GoldenFiles['files']> {
  const files: Record<string, string> = {}
  for (const name of (await readdir(dir, { recursive: true })).sort()) {
    const path = join(dir, name)
    if (name !== 'LOCK' && (await stat(path)).isFile()) files[name] = (await readFile(path)).toString('base64')
  }
  return files
}

export function storeGolden(format: string, golden: GoldenFiles): void {
  writeFileSync(fileOf(format), brotliCompressSync(JSON.stringify(golden)))
}

/** Writes the directory that a golden file holds. */
export async function writeGolden<T extends GoldenFiles>(format: string, dataDir: string): Promise<T> {
  // Ours, stored by `storeGolden`.
  const golden = JSON.parse(brotliDecompressSync(readFileSync(fileOf(format))).toString()) as T
  for (const [name, content] of Object.entries(golden.files)) {
    await mkdir(dirname(join(dataDir, name)), { recursive: true })
    await writeFile(join(dataDir, name), Buffer.from(content, 'base64'))
  }
  return golden
}

/** The manifests of its checkpoints, newest last. */
export function manifestsOf({ files }: GoldenFiles): string[] {
  return Object.entries(files)
    .filter(([name]) => name.endsWith('manifest.json') && name.includes('checkpoint'))
    .map(([, content]) => Buffer.from(content, 'base64').toString())
}

/** The formats of the manifests of its checkpoints. */
export function formatsOf(golden: GoldenFiles): number[] {
  return manifestsOf(golden).map((manifest) => Number(/"format":(\d+)/.exec(manifest)?.[1]))
}

function fileOf(format: string): URL {
  return new URL(`../golden/${format}.json.br`, import.meta.url)
}
