// One command of a release, with its output only if it fails.
import { spawn } from 'node:child_process'

export interface StepOptions {
  readonly cwd?: string
  /** In addition to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** Permissions that the command takes from files it makes, such as 0o027. */
  readonly umask?: number
}

/** Resolves to standard output. Rejects with the end of the output if the exit code is not 0. */
export function runStep(command: string, args: readonly string[], options: StepOptions = {}): Promise<string> {
  const { cwd, env = {}, umask } = options
  const [program, given] =
    umask === undefined
      ? [command, args]
      : ['/bin/sh', ['-c', `umask ${umask.toString(8)}; exec "$@"`, 'sh', command, ...args]]
  return new Promise((resolve, reject) => {
    const child = spawn(program, given, {
      ...(cwd !== undefined && { cwd }),
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const stdout: Buffer[] = []
    const all: Buffer[] = []
    child.stdout.on('data', (bytes: Buffer) => void stdout.push(bytes))
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => void all.push(bytes))
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) return resolve(Buffer.concat(stdout).toString())
      const end = Buffer.concat(all).toString().slice(-3_000)
      reject(new Error(`${[command, ...args].join(' ')} ended with ${code}:\n${end}`))
    })
  })
}
