// The real server, and the dashboard's own process: child processes on their own ports, with an empty directory.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { commandProgram, serverProgram } from '../../server/test/programs.ts'

/** Resolves to the server's address. The test stops it and checks that it exits cleanly. */
export async function realServer(t: Test, settings: Readonly<Record<string, string>> = {}): Promise<string> {
  const dataDir = await mkdtemp(path.join(os.tmpdir(), 'annal-dashboard-test-'))
  t.teardown(() => rm(dataDir, { recursive: true }))
  return serving(t, serverProgram, { NDD_SERVER_PORT: '0', NDD_NUM_THREADS: '1', NDD_DATA_DIR: dataDir, ...settings })
}

/** The dashboard in its own process, as `annal dashboard` starts it. Resolves to its address. */
export async function realDashboard(t: Test, server: string): Promise<string> {
  return serving(t, [...commandProgram, 'dashboard', '--server', server, '--host', '127.0.0.1', '--port', '0'], {})
}

async function serving(
  t: Test,
  program: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<string> {
  const child = spawn(process.execPath, program, {
    env: {
      PATH: process.env.PATH,
      // Most of a start is compiling the sources, so processes share a cache of that.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'node-compile-cache'),
      NDD_NUM_SERVER_THREADS: process.env.ANNAL_SERVER_THREADS ?? '1',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-4_000)
  })
  t.teardown(async () => {
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`the process ended with ${code} when it was stopped:\n${complaints}`)
  })
  const address = await addressOf(child)
  if (address === undefined) throw new Error(`the process exited before it was ready:\n${complaints}`)
  return address
}

async function addressOf(child: ChildProcess): Promise<string | undefined> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const address = /http:\/\/\S+/.exec(line)?.[0]
    if (address !== undefined) return address
  }
  return undefined
}

/** A call that bypasses the dashboard, to prepare data and to inspect results. */
export async function callServer(
  address: string,
  method: string,
  route: string,
  body?: unknown,
  token?: string,
): Promise<unknown> {
  const response = await fetch(address + route, {
    method,
    headers: {
      accept: 'application/json',
      ...(token !== undefined && { authorization: token }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${route}: ${text}`)
  return JSON.parse(text)
}
