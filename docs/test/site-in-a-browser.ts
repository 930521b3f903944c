// A headless Chromium, if one is installed, and the built site on a port of its own.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import path from 'node:path'
import puppeteer, { type Browser } from 'puppeteer-core'
import type { Test } from 'tap'

const executable = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((file) => file !== undefined && existsSync(file))

/** Why a browser cannot be driven here, or false if it can. */
export const skipBrowser = executable === undefined ? 'no Chromium is installed' : false

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
}

/** Serves the files of the folder, pages without their ending. Resolves to the origin. */
export async function serveSite(t: Test, folder: string): Promise<string> {
  const server = createServer(async (request, reply) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site')
    const name = pathname.endsWith('/') ? `${pathname}index.html` : pathname
    const file = path.join(folder, path.extname(name) === '' ? `${name}.html` : name)
    try {
      const bytes = await readFile(file)
      reply.writeHead(200, { 'content-type': types[path.extname(file)] ?? 'application/octet-stream' }).end(bytes)
    } catch {
      // There is no such file.
      reply.writeHead(404).end()
    }
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the site has no port')
  return `http://127.0.0.1:${address.port}`
}

export async function openBrowser(t: Test): Promise<Browser> {
  // Containers rarely allow the sandbox, and only our own pages are opened.
  const args = ['--no-sandbox', '--disable-dev-shm-usage']
  const browser = await puppeteer.launch({ executablePath: executable!, args })
  t.teardown(() => browser.close())
  return browser
}
