// The server as a separate process, as an operator starts it.
import { type ChildProcess, spawn } from 'node:child_process'
import os from 'node:os'
import path from 'node:path'
import { serverProgram, sourceProgram } from './programs.ts'

export interface RunningProcess {
  readonly child: ChildProcess
  /** The address that it serves; rejects with the output if the process exits. */
  readonly serving: Promise<string>
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  stdout(): string
  stderr(): string
}

/** The server, or that of the file `main`. `through` is a command that runs the one that follows it. */
export function startProcess(
  environment: Readonly<Record<string, string>>,
  main?: string,
  through: readonly string[] = [],
): RunningProcess {
  const server = main === undefined ? serverProgram : sourceProgram(main)
  const [program = '', ...args] = [...through, process.execPath, '--max-semi-space-size=8', ...server]
  const child = spawn(program, args, {
    env: {
      ...withoutSettings(process.env),
      // Most of a start is reading and compiling the sources, so processes share a compile cache.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'node-compile-cache'),
      NDD_SERVER_PORT: '0',
      NDD_NUM_THREADS: '1',
      NDD_NUM_SERVER_THREADS: process.env.ANNAL_SERVER_THREADS ?? '1',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }))
  })
  const serving = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (bytes: Buffer) => {
      out += bytes.toString()
      const address = /serves (https?:\/\/\S+)/.exec(out)?.[1]
      if (address !== undefined) resolve(address)
    })
    child.stderr.on('data', (bytes: Buffer) => {
      err += bytes.toString()
    })
    ended.then(({ code, signal }) => reject(new Error(`ended with ${code ?? signal} before it served: ${err}`)), reject)
  })
  // A test that expects the exit does not use `serving`.
  serving.catch(() => undefined)
  return { child, serving, ended, stdout: () => out, stderr: () => err }
}

function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('NDD_')))
}
