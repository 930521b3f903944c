// Asks before a command does what cannot be taken back.
import { createInterface } from 'node:readline/promises'
import { CommandEnd, exitCode, usageError } from './exit-code.ts'

/** Asks on a terminal. Elsewhere, and after any answer but yes, the command ends; `--yes` answers in advance. */
export async function confirm(consequence: string, { yes = false }: { readonly yes?: boolean }): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY) throw usageError(`${consequence}; add --yes to confirm`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await lines.question(`${consequence}. Continue? [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandEnd(exitCode.attention, 'nothing was changed')
  } finally {
    lines.close()
  }
}
