// Asks before a command does what cannot be taken back.
import { createInterface } from 'node:readline/promises'
import { CommandEnd, exitCode, usageError } from './exit-code.ts'
import { sessionNow } from './session.ts'
import { visible } from './visible-text.ts'

/** Asks on a terminal. Elsewhere, and after any answer but yes, the command ends; `--yes` answers in advance. */
export async function confirm(consequence: string, { yes = false }: { readonly yes?: boolean }): Promise<void> {
  if (yes) return
  const answer = await ask(`${visible(consequence)}. Continue? [y/N] `)
  if (answer === undefined) throw usageError(`${consequence}; add --yes to confirm`)
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandEnd(exitCode.attention, 'nothing was changed')
}

/** Undefined if there is no terminal. In a shell, the shell asks. */
async function ask(question: string): Promise<string | undefined> {
  const session = sessionNow()
  if (session !== undefined) return session.question?.(question)
  if (!process.stdin.isTTY) return undefined
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // The end of the input is not an answer.
  const ended = new Promise<void>((resolve) => lines.once('close', () => resolve()))
  let wasInterrupted = false
  lines.once('SIGINT', () => {
    wasInterrupted = true
    lines.close()
  })
  const answer = await Promise.race([lines.question(question), ended])
  lines.close()
  // The question has no line end yet.
  if (answer === undefined) process.stderr.write('\n')
  if (wasInterrupted) throw new CommandEnd(exitCode.interrupted, 'nothing was changed')
  return answer ?? ''
}
