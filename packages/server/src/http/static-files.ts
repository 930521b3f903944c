// The built files of the dashboard, read once and kept: a request chooses among them by name, so no file name is ever built out
// of what a client sends. Files are compressed when they are built; here one of the forms is chosen.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'

export interface StaticFile {
  readonly type: string
  readonly etag: string
  /** By content coding, `identity` always among them. */
  readonly forms: ReadonlyMap<string, Buffer>
}

/** By path below the address of the dashboard: `index.html`, `assets/<name>`. */
export type StaticFiles = ReadonlyMap<string, StaticFile>

/** In the order of preference. */
const codings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

const types: { readonly [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Empty where the dashboard was not built or not installed. */
export async function readDashboard(): Promise<StaticFiles> {
  const dir = dashboardDir()
  const names = dir === undefined ? [] : await readdir(dir, { recursive: true }).catch(() => [])
  const files = new Map<string, StaticFile>()
  for (const name of names) {
    const type = types[path.extname(name)]
    if (dir === undefined || type === undefined) continue
    const forms = new Map<string, Buffer>()
    for (const [coding, extension] of codings) {
      if (names.includes(name + extension)) forms.set(coding, await readFile(path.join(dir, name + extension)))
    }
    const bytes = await readFile(path.join(dir, name))
    forms.set('identity', bytes)
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    files.set(name.split(path.sep).join('/'), { type, etag, forms })
  }
  return files
}

function dashboardDir(): string | undefined {
  try {
    return path.join(path.dirname(createRequire(import.meta.url).resolve('@annal/dashboard/package.json')), 'dist')
  } catch {
    return undefined
  }
}

/** The smallest form that the Accept-Encoding header takes. */
export function chooseForm({ forms }: StaticFile, accepted = ''): readonly [coding: string, bytes: Buffer] {
  const taken = new Set(
    accepted
      .toLowerCase()
      .split(',')
      .map((item) => item.trim().split(/\s*;\s*/))
      .filter(([, weight]) => !/^q=0(\.0*)?$/.test(weight ?? ''))
      .map(([coding]) => coding),
  )
  for (const [coding, bytes] of forms) if (taken.has(coding) || coding === 'identity') return [coding, bytes]
  throw new Error('a file has no identity form')
}
