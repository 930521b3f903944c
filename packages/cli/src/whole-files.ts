// Files and directories that appear when they are complete: a command that fails, or that Ctrl-C or SIGTERM ends, leaves nothing unfinished.
import { rmSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import os from 'node:os'
import { sessionNow } from './session.ts'

const signals = ['SIGINT', 'SIGTERM'] as const

/** Writes to temporary files and renames them when all are complete. */
export async function wholly(
  files: readonly string[],
  work: (parts: readonly string[]) => Promise<void>,
): Promise<void> {
  const parts = files.map((file) => `${file}.part`)
  try {
    await unlessInterrupted(
      () => parts,
      () => work(parts),
    )
  } catch (error) {
    await Promise.all(parts.map((part) => rm(part, { force: true })))
    throw error
  }
  for (const [i, file] of files.entries()) await rename(parts[i] as string, file)
}

/** Runs the work. A signal that ends the process meanwhile removes what `unfinished` names, and the process ends as the shell expects. */
export async function unlessInterrupted<T>(unfinished: () => readonly string[], work: () => Promise<T>): Promise<T> {
  // A shell interrupts its commands itself: their calls fail.
  if (sessionNow() !== undefined) return work()
  const end = (signal: NodeJS.Signals): void => {
    // Nothing else runs before the process ends, so no file can appear again.
    for (const file of unfinished()) rmSync(file, { recursive: true, force: true })
    process.stderr.write('\nannal: interrupted; nothing was written\n')
    process.exit(128 + os.constants.signals[signal])
  }
  for (const signal of signals) process.on(signal, end)
  try {
    return await work()
  } finally {
    for (const signal of signals) process.off(signal, end)
  }
}
