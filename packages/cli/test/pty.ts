// The command line on a terminal of its own: a pseudo terminal of Python, 100 cells wide.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import os from 'node:os'
import path from 'node:path'
import { commandProgram } from '../../server/test/programs.ts'

const program = `
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(['/bin/sh', '-c', 'stty cols 100 rows 24; exec "$@"', 'sh'] + sys.argv[1:])))
`

const nothing = () => undefined

/** Why there is no such terminal here; false if there is one. */
export const noPty: string | false = (() => {
  try {
    execFileSync('python3', ['-c', 'import pty'], { stdio: 'ignore' })
    return false
  } catch {
    return 'needs python3'
  }
})()

export interface OnTerminal {
  readonly child: ChildProcess
  /** Everything that the terminal showed so far. */
  readonly shown: () => string
  /** Types keys. */
  type(keys: string): void
  /** Waits until the terminal shows the pattern after the last such wait; rejects when the command ends without it. */
  until(pattern: RegExp): Promise<string>
  readonly ended: Promise<number | null>
}

export function onTerminal(args: readonly string[], environment: Readonly<Record<string, string>>): OnTerminal {
  const command = [process.execPath, ...commandProgram, ...args]
  const child = spawn('python3', ['-c', program, ...command], {
    env: {
      PATH: process.env.PATH,
      TERM: 'xterm',
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? path.join(os.tmpdir(), 'node-compile-cache'),
      ...environment,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let [shown, seen] = ['', 0]
  let look: () => void = nothing
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text
    look()
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)))
  return {
    child,
    ended,
    shown: () => shown,
    type: (keys) => {
      child.stdin.write(keys)
    },
    until: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          const found = pattern.exec(shown.slice(seen))
          if (found === null) return
          seen += found.index + found[0].length
          look = nothing
          resolve(found[0])
        }
        void ended.then(() => reject(new Error(`ended without ${pattern}; it showed:\n${shown}`)))
        look()
      }),
  }
}
