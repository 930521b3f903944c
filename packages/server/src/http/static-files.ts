// The built files of the dashboard. A request chooses among the files that were found once, so that no file name is ever built from
// what a client sends. @fastify/static sends them: it chooses the compressed form and streams it from disk.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'

/** ETags by path below the address of the dashboard: `index.html`, `assets/<name>`. Empty if the dashboard is not built. */
export type StaticFiles = ReadonlyMap<string, string>

/** Other files of the build, such as the compressed forms, are not served under their own names. */
const extensions: ReadonlySet<string> = new Set(['.html', '.js', '.css', '.svg'])

/** Adds `reply.sendFile` for the files of the dashboard. */
export async function addStaticFiles(app: FastifyInstance): Promise<void> {
  const root = dashboardDir()
  if (root === undefined) return
  const [{ default: fastifyStatic }, { default: send }] = await Promise.all([
    import('@fastify/static'),
    import('@fastify/send'),
  ])
  // RFC 9239; the library's table still has application/javascript.
  send.mime.define({ 'text/javascript': ['js'] }, true)
  await app.register(fastifyStatic, {
    root,
    serve: false,
    preCompressed: true,
    suppressWarning: true,
    // The routes set these headers. The library's ETag is size and time of the file: npm gives every file of a package the same time,
    // and two versions of index.html have the same size, so a browser would keep the old page.
    etag: false,
    lastModified: false,
    cacheControl: false,
    acceptRanges: false,
  })
}

export async function findStaticFiles(): Promise<StaticFiles> {
  const root = dashboardDir()
  const names = root === undefined ? [] : await readdir(root, { recursive: true }).catch(() => [])
  const files = new Map<string, string>()
  for (const name of names) {
    if (root === undefined || !extensions.has(path.extname(name))) continue
    const hash = createHash('sha256').update(await readFile(path.join(root, name)))
    files.set(name.split(path.sep).join('/'), `"${hash.digest('base64url').slice(0, 22)}"`)
  }
  return files
}

function dashboardDir(): string | undefined {
  try {
    return path.join(path.dirname(createRequire(import.meta.url).resolve('@annal/dashboard/package.json')), 'dist')
  } catch {
    // The package is not installed.
    return undefined
  }
}
