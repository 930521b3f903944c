// The command line in its own process, as a user starts it.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { commandProgram } from '../../server/test/programs.ts'

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Started {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Resolves with the address; rejects with the output if the process exits instead. */
  readonly serving: Promise<string>
}

type Environment = Readonly<Record<string, string>>

export function start(args: readonly string[], environment: Environment = {}): Started {
  const child = spawn(process.execPath, [...commandProgram, ...args], {
    env: {
      PATH: process.env.PATH,
      NDD_NUM_THREADS: '1',
      NDD_NUM_SERVER_THREADS: process.env.ANNAL_SERVER_THREADS ?? '1',
      // Compiling the sources is most of a start, so processes share one compile cache.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'node-compile-cache'),
      ...environment,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, out, err })))
  const serving = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (bytes: Buffer) => {
      out += bytes.toString()
      const address = /serves (http:\/\/\S+)/.exec(out)?.[1]
      if (address !== undefined) resolve(address)
    })
    child.stderr.on('data', (bytes: Buffer) => {
      err += bytes.toString()
    })
    ended.then(({ code }) => reject(new Error(`ended with ${code} before it served: ${err}`)), reject)
  })
  // Most commands serve nothing, so the promise may stay unused.
  serving.catch(() => undefined)
  return { child, ended, serving }
}

export function annal(args: readonly string[], environment: Environment = {}): Promise<Ended> {
  const { child, ended } = start(args, environment)
  child.stdin?.end()
  return ended
}

export function freshDir(t: Test): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'annal-cli-test-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Starts a server that stops with the test at the latest. */
export async function serve(t: Test, dir: string, environment: Environment = {}) {
  const started = start(['serve', '--data-dir', dir, '--port', '0'], environment)
  const stop = async () => {
    if (started.child.exitCode === null) started.child.kill('SIGTERM')
    return started.ended
  }
  t.teardown(stop)
  return { address: await started.serving, child: started.child, stop }
}
