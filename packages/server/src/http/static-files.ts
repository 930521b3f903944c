// The built files of the dashboard. A request chooses among the files that were found once, so that no file name is ever built from
// what a client sends. @fastify/static reads them and chooses the compressed form.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import fastify, { type FastifyInstance } from 'fastify'

export interface StaticFile {
  readonly type: string
  readonly etag: string
}

export interface StaticForm {
  /** Undefined if the bytes are not compressed. */
  readonly coding: string | undefined
  readonly bytes: Buffer
}

export interface StaticFiles {
  /** By path below the address of the dashboard: `index.html`, `assets/<name>`. Empty if the dashboard is not built. */
  readonly files: ReadonlyMap<string, StaticFile>
  /** The smallest form of one of the files that the Accept-Encoding header accepts. */
  read(name: string, accepted: string | undefined): Promise<StaticForm>
  close(): Promise<void>
}

/** Other files of the build, such as the compressed forms, are not served under their own names. */
const types: { readonly [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Called at the first request for a file: loading the library takes 5 MB, which a server does not need until its dashboard is opened. */
export async function openStaticFiles(): Promise<StaticFiles> {
  const root = dashboardDir()
  const app = root === undefined ? undefined : await readerOf(root)
  return {
    files: root === undefined ? new Map() : await findFiles(root),
    async read(name, accepted) {
      if (app === undefined) throw new Error('there are no files of a dashboard')
      const headers = accepted === undefined ? {} : { 'accept-encoding': accepted }
      const reply = await app.inject({ url: encodeURI(`/${name}`), headers })
      if (reply.statusCode !== 200) throw new Error(`${name} cannot be read any more`)
      return { coding: reply.headers['content-encoding'] as string | undefined, bytes: reply.rawPayload }
    },
    async close() {
      await app?.close()
    },
  }
}

/**
 * An application of its own, because a library can be added to an application only before it starts. Its caching headers are not used: its
 * ETag is size and time of the file, but npm gives every file of a package the same time, and two versions of index.html have the same
 * size, so a browser would keep the old page.
 */
async function readerOf(root: string): Promise<FastifyInstance> {
  const { default: fastifyStatic } = await import('@fastify/static')
  const app = fastify({ exposeHeadRoutes: false })
  await app.register(fastifyStatic, {
    root,
    preCompressed: true,
    etag: false,
    lastModified: false,
    suppressWarning: true,
  })
  return app
}

async function findFiles(root: string): Promise<ReadonlyMap<string, StaticFile>> {
  const names = await readdir(root, { recursive: true }).catch(() => [])
  const files = new Map<string, StaticFile>()
  for (const name of names) {
    const type = types[path.extname(name)]
    if (type === undefined) continue
    const hash = createHash('sha256').update(await readFile(path.join(root, name)))
    files.set(name.split(path.sep).join('/'), { type, etag: `"${hash.digest('base64url').slice(0, 22)}"` })
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
