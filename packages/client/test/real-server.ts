// The real server, a child process on a directory and a port of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Test } from 'tap'
import { serverProgram } from '../../server/test/programs.ts'

export interface ServerOptions {
  readonly dataDir: string
  readonly token?: string
  readonly rootToken?: string
  /** Serving threads; by default those of ANNAL_SERVER_THREADS, or one. */
  readonly threads?: number
  /** Settings of the server. */
  readonly environment?: Readonly<Record<string, string>>
}

export interface ServerProcess {
  readonly url: string
  /** Resolves when it has exited; rejects if it did not exit cleanly. Does nothing after its end. */
  stop(): Promise<void>
  /** Ends it with SIGKILL. */
  kill(): Promise<void>
}

/** Resolves when the server is ready. */
export async function startServer({
  dataDir,
  token,
  rootToken,
  threads,
  environment,
}: ServerOptions): Promise<ServerProcess> {
  const serverThreads = threads ?? process.env.ANNAL_SERVER_THREADS ?? '1'
  const child = spawn(process.execPath, serverProgram, {
    env: {
      PATH: process.env.PATH,
      // Most of a start is compiling the sources, so processes share a cache of that.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'node-compile-cache'),
      NDD_SERVER_PORT: '0',
      NDD_DATA_DIR: dataDir,
      NDD_NUM_SERVER_THREADS: String(serverThreads),
      ...(token !== undefined && { NDD_AUTH_TOKEN: token }),
      ...(rootToken !== undefined && { NDD_ROOT_TOKEN: rootToken }),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  const complaints = lastOf(child.stderr!)
  const url = await addressOf(child)
  if (url === undefined) throw new Error(`the server exited before it was ready:\n${complaints()}`)
  return {
    url,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      const [code] = await exited
      if (code !== 0) throw new Error(`the server ended with ${code} when it was stopped:\n${complaints()}`)
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** A server with an empty directory; resolves to its address. The test stops it and checks that it exits cleanly. */
export async function realServer(t: Test, options: Omit<ServerOptions, 'dataDir'> = {}): Promise<string> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-client-test-'))
  const server = await startServer({ ...options, dataDir })
  t.teardown(async () => {
    await server.stop()
    rmSync(dataDir, { recursive: true })
  })
  return server.url
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
