// Converts a page to a program: its code blocks, in order, as one bash script that a reader could have typed, and the output that
// the page shows.
import { readFileSync } from 'node:fs'

export interface Step {
  readonly language: 'sh' | 'ts' | 'python'
  readonly code: string
  /** Lines of output that the page shows, printed by this step or by the steps before it without output of their own. */
  readonly printed: readonly string[]
}

const fence = /^```(\w*)\n([\s\S]*?)^```$/gm
/** Languages of blocks that are not run. */
const shown = ['json', '']

/** Throws at an unknown language, so that no block is skipped silently. */
export function stepsOf(page: string): Step[] {
  const steps: Step[] = []
  for (const [, language = '', code = ''] of readFileSync(page, 'utf8').matchAll(fence)) {
    const last = steps.at(-1)
    if (language === 'text' && last) steps[steps.length - 1] = { ...last, printed: code.trim().split('\n') }
    else if (language === 'sh' || language === 'ts' || language === 'python')
      steps.push({ language, code, printed: [] })
    else if (!shown.includes(language)) throw new Error(`${page}: no runner for ${language}`)
  }
  return steps
}

/** Printed between the output of one step and the next. */
const divider = '-- step --'

/** Programs are files next to the script, made by `fileOf`, and run by these commands. */
export function scriptOf(
  steps: readonly Step[],
  fileOf: (step: Step, index: number) => string,
  commandsOf: { readonly node: string; readonly python: string },
): string {
  const commands = steps.map((step, index) => {
    if (step.language === 'sh') return step.code
    return `${step.language === 'ts' ? commandsOf.node : commandsOf.python} ${fileOf(step, index)}\n`
  })
  // If the script fails, the servers that it started end too.
  return `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${commands.join(`echo '${divider}'\n`)}`
}

/**
 * Returns the lines that a page shows and that no step up to that point printed. A page shows parts of the output of commands, which reply with
 * whole JSON documents, and everything that a program prints.
 */
export function missing(steps: readonly Step[], stdout: string): string[] {
  const outputs = stdout.split(`${divider}\n`)
  let since = 0
  return steps.flatMap(({ language, printed }, index) => {
    if (printed.length === 0) return []
    const output = outputs.slice(since, index + 1).join('')
    since = index + 1
    const lost = printed.filter((line) => !output.includes(line.trim()))
    if (lost.length === 0 && language !== 'sh') return unshown(printed, outputs[index] ?? '')
    return lost.map((line) => `${line.trim()} is not in:\n${output}`)
  })
}

/** Returns the lines that a program printed and the page does not show. */
function unshown(printed: readonly string[], output: string): string[] {
  const shownLines = printed.map((line) => line.trim())
  const lines = output.trim().split('\n')
  return lines
    .filter((line) => !shownLines.includes(line.trim()))
    .map((line) => `${line} is not shown below its program`)
}
