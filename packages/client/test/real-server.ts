// The real server from source, a child process with an empty directory on its own port.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const serverMain = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url))

/** Resolves to its address. The test stops the server and checks that it exits cleanly. */
export async function realServer(
  t: Test,
  options: { readonly token?: string; readonly rootToken?: string } = {},
): Promise<string> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-client-test-'))
  const child = spawn(process.execPath, ['--conditions=annal-source', serverMain], {
    env: {
      PATH: process.env.PATH,
      NDD_SERVER_PORT: '0',
      NDD_DATA_DIR: dataDir,
      ...(process.env.ANNAL_SERVER_THREADS && { NDD_NUM_SERVER_THREADS: process.env.ANNAL_SERVER_THREADS }),
      ...(options.token !== undefined && { NDD_AUTH_TOKEN: options.token }),
      ...(options.rootToken !== undefined && { NDD_ROOT_TOKEN: options.rootToken }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const complaints = lastOf(child.stderr!)
  t.teardown(async () => {
    if (child.exitCode === null) {
      child.kill('SIGTERM')
      const [code] = await once(child, 'exit')
      if (code !== 0) throw new Error(`the server ended with ${code} when it was stopped:\n${complaints()}`)
    }
    rmSync(dataDir, { recursive: true })
  })
  const address = await addressOf(child)
  if (address === undefined) throw new Error(`the server exited before it was ready:\n${complaints()}`)
  return address
}

/** The server prints its address when it is ready. */
async function addressOf(child: ChildProcess): Promise<string | undefined> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const address = /http:\/\/\S+/.exec(line)?.[0]
    if (address !== undefined) return address
  }
  return undefined
}

/** The last output, for error messages. */
function lastOf(stream: Readable): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-4_000)
  })
  return () => text
}
